import type { ProfileView } from '#shared/protocol/profile-view.ts';

/** A profile of a training that waits for its data. */
export function inputBoundProfile(jobId: string, profileId: string): ProfileView {
  const name = `dropforge-profiles/${jobId}/${profileId}.speedscope.json`;
  const calledFrom = { name: 'train', file: '/app/trainer/task.py', line: 31 };
  return {
    ...{ jobId, profileId, state: 'RECORDED', message: '', replica: null, seconds: null, requestTime: null },
    file: { uri: `gs://jobs/${jobId}/${name}`, name, sizeBytes: 481_230 },
    verdict: {
      code: 'INPUT_BOUND',
      summary: 'Input-bound: the training waits for its data.',
      evidence: [
        'The main thread was 91 % in loading data or waiting for it, 6 % in native code, or waiting for it.',
        'The main process used 0.04 CPU cores of 4. Its 2 worker processes used 0.90 CPU cores.',
        'Busy: GPU 0 6 %.',
      ],
      remedy: 'The workers mostly wait themselves, for a disk or a network: use more of them (num_workers=8).',
      shares: { STARTUP: 0, INPUT: 0.91, SAVE: 0.01, WAIT_FOR_OTHERS: 0, NATIVE: 0.06, PYTHON: 0.02 },
      topFrames: [
        {
          ...{ name: 'select', file: '/usr/lib/python3.11/selectors.py', line: 415 },
          ...{ fraction: 0.905, kind: 'INPUT', calledFrom },
        },
        {
          ...{ name: '_conv_forward', file: '/opt/dropforge/env/site-packages/torch/nn/modules/conv.py', line: 456 },
          ...{ fraction: 0.06, kind: 'NATIVE', calledFrom },
        },
        {
          ...{ name: 'a_function_with_a_long_name_that_formats_the_metrics', file: '/app/trainer/task.py', line: 77 },
          ...{ fraction: 0.02, kind: 'PYTHON', calledFrom: null },
        },
      ],
    },
  };
}

/** The views of a profile, from its request to its verdict. */
export function recordedProfile(jobId: string, profileId: string): ProfileView[] {
  const recorded = inputBoundProfile(jobId, profileId);
  const pending = { ...recorded, replica: 'master-0', seconds: 30, file: null, verdict: null } as const;
  return [{ ...pending, state: 'REQUESTED' }, { ...pending, state: 'RECORDING' }, recorded];
}
