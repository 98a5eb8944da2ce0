import type { Command } from '#cli/core/command.ts';
import { readCustomJobRequest } from '#cli/submit/custom-job-request.ts';
import { submit } from '#cli/submit/submit.ts';
import { CUSTOM_JOB_FLAGS, SUBMIT_FLAGS } from '#cli/submit/submit-flags.ts';
import { readTrainingRequest } from '#cli/submit/training-request.ts';

export const jobsSubmitTraining: Command = {
  operands: [
    {
      name: 'JOB',
      summary: 'the new job id: a letter, then letters, digits, underscores; without it, the one that --config names',
      count: 'optional',
    },
  ],
  flags: SUBMIT_FLAGS,
  rest: 'given to the program as they are',
  notes: 'Flags are those of `gcloud ai-platform jobs submit training` and beat what --config says.',
  run: async (invocation) => submit(invocation, await readTrainingRequest(invocation)),
};

export const customJobsCreate: Command = {
  operands: [],
  flags: CUSTOM_JOB_FLAGS,
  notes:
    'Flags are those of `gcloud ai custom-jobs create` and beat what --config says. A list may have another character\n' +
    'in place of its commas: --args="^;^--names=a,b;--fast".',
  run: async (invocation) => submit(invocation, await readCustomJobRequest(invocation)),
};
