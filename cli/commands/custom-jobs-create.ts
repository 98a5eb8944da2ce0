import type { Command } from '#cli/core/command.ts';
import { CUSTOM_JOB_FLAGS } from '#cli/submit/custom-job-flags.ts';
import { readCustomJobRequest } from '#cli/submit/custom-job-request.ts';
import { submit } from '#cli/submit/submit.ts';

export const customJobsCreate: Command = {
  operands: [],
  flags: CUSTOM_JOB_FLAGS,
  notes:
    'Flags are those of `gcloud ai custom-jobs create` and beat what --config says. A list may have another character\n' +
    'in place of its commas: --args="^;^--names=a,b;--fast".',
  run: async (invocation) => submit(invocation, await readCustomJobRequest(invocation)),
};
