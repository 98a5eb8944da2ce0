import type { Command } from '#cli/core/command.ts';
import { readCustomJobRequest } from '#cli/submit/custom-job-request.ts';
import { submit } from '#cli/submit/submit.ts';
import { CUSTOM_JOB_FLAGS, SUBMIT_FLAGS } from '#cli/submit/submit-flags.ts';
import { readTrainingRequest } from '#cli/submit/training-request.ts';

const MESSAGE_NOTE =
  'On a deployment, packages are uploaded and the job file is published to the submit topic, if the deployment has one.';

export const jobsSubmitTraining: Command = {
  operands: [
    {
      name: 'JOB',
      summary: 'job id: a letter followed by letters, digits and underscores (default: the id in the --config file)',
      count: 'optional',
    },
  ],
  example: 'digits --package-path trainer --module-name trainer.task --gpu T4 --stream-logs -- --epochs 5',
  flags: SUBMIT_FLAGS,
  rest: 'passed to the program unchanged',
  notes: `Flags are those of \`gcloud ai-platform jobs submit training\` and override the --config file.\n${MESSAGE_NOTE}`,
  run: (invocation) => submit(invocation, readTrainingRequest(invocation)),
};

export const customJobsCreate: Command = {
  operands: [],
  example: '--display-name digits --config custom-job.yaml --stream-logs',
  flags: CUSTOM_JOB_FLAGS,
  notes:
    'Flags are those of `gcloud ai custom-jobs create` and override the --config file. To use a list delimiter other\n' +
    `than the comma: --args="^;^--names=a,b;--fast".\n${MESSAGE_NOTE}`,
  run: (invocation) => submit(invocation, readCustomJobRequest(invocation)),
};
