import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const GOOD_TRIALS = 5;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 500 }, vmsMax: 2 });
});

afterAll(() => cloud.stop());

/**
 * The first trials end soon. Later ones are worse, and go on for longer than this test, in steps that stay below those
 * of the others; they save a checkpoint when they are asked to stop.
 */
const PROGRAM = `
import json, os, signal, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
is_good = int(os.environ['CLOUD_ML_TRIAL_ID']) <= ${GOOD_TRIALS}
def report(step, loss):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write(json.dumps({'step': step, 'steps': 20, 'loss': loss}) + '\\n')
def save(*_):
    report(19, 0.8)
    open(out + '/checkpoint', 'w').write('complete')
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
for step in range(1, 21 if is_good else 9):
    report(step, 0.5 if is_good else 0.9)
end = time.monotonic() + (0 if is_good else 600)
while time.monotonic() < end:
    time.sleep(0.2)
    step += 0.001
    report(step, 0.9)
open(out + '/model', 'w').write('complete')
`;

const MEDIAN = (jobId: string) => ({
  jobId,
  trainingInput: {
    scaleTier: 'BASIC',
    region: 'us-central1',
    pythonModule: 'trainer.task',
    hyperparameters: {
      goal: 'MINIMIZE',
      hyperparameterMetricTag: 'loss',
      algorithm: 'RANDOM_SEARCH',
      enableTrialEarlyStopping: true,
      maxTrials: GOOD_TRIALS + 2,
      maxParallelTrials: 2,
      params: [{ parameterName: 'rate', type: 'DOUBLE', minValue: 0, maxValue: 1 }],
    },
  },
});

const ASHA = (name: string) => ({
  name,
  module: 'trainer.task',
  tune: {
    metric: 'loss',
    goal: 'minimize',
    algorithm: 'random',
    stopping: 'asha',
    trials: GOOD_TRIALS + 2,
    parallel: 2,
    parameters: { rate: { min: 0, max: 1 } },
  },
});

async function listTrials(jobId: string): Promise<readonly TrialView[]> {
  const response = await fetch(`${cloud.endpoints.api}/v1/jobs/${jobId}/trials`);
  return ((await response.json()) as { readonly trials: readonly TrialView[] }).trials;
}

describe.each([
  ['the median rule', 'median', MEDIAN],
  ['ASHA', 'asha', ASHA],
] as const)('a tuning that stops early by %s', (_rule, jobId, fileOf) => {
  it('ends the trials that are behind, with what they have measured and saved', async () => {
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(PROGRAM, fileOf(jobId)));
    const job = await cloud.awaitJob(jobId, undefined, 180_000);
    expect(job).toMatchObject({
      state: 'SUCCEEDED',
      tuning: { endedTrialCount: GOOD_TRIALS + 2, counts: { succeeded: GOOD_TRIALS + 2, stoppedEarly: 2 } },
    });
    const trials = await listTrials(jobId);
    expect(trials.map(({ isTrialStoppedEarly }) => isTrialStoppedEarly)).toEqual([
      ...Array.from({ length: GOOD_TRIALS }, () => false),
      true,
      true,
    ]);
    for (const { trialId, objective, isTrialStoppedEarly } of trials) {
      const trial = await cloud.readJob(`${jobId}_trial_${trialId}`);
      expect(trial).toMatchObject({ state: 'SUCCEEDED' });
      // A value that a program reports when it is asked to stop counts, too.
      expect(objective).toBe(isTrialStoppedEarly ? 0.8 : 0.5);
      const { bucket, name } = parseGsUri(`${trial?.jobDir}/${isTrialStoppedEarly ? 'checkpoint' : 'model'}`);
      expect(await cloud.readObject(bucket, name)).toBe('complete');
    }
    expect(await cloud.listVms()).toEqual([]);
  });
});
