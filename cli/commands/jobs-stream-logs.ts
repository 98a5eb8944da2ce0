import { openApi } from '#cli/client/open-api.ts';
import type { Command } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { streamJob } from '#cli/submit/stream-job.ts';
import { trialJobIdOf } from '#shared/tuning/trial.ts';

export const jobsStreamLogs: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [{ name: 'trial', value: 'N', summary: 'print the log of this trial of a tuning job' }, ...GCLOUD_JOB_FLAGS],
  notes: 'Of a tuning job without --trial, prints a line for each trial that has ended.',
  async run(invocation) {
    const { operands, flag } = invocation;
    const [jobId = ''] = operands;
    const streamed = readTrial(jobId, flag('trial'));
    const { api } = await openApi(invocation);
    await streamJob(invocation, api, streamed);
    return 0;
  },
};

function readTrial(jobId: string, trial: string | undefined): string {
  if (trial !== undefined && !/^[1-9]\d{0,5}$/.test(trial)) {
    throw new UsageFailure(`--trial must be the id of a trial, a number from 1, not '${trial}'.`);
  }
  return trial === undefined ? jobId : trialJobIdOf(jobId, Number(trial));
}
