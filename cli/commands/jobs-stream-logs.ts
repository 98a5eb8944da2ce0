import { openApi } from '#cli/client/open-api.ts';
import type { Command } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { streamJob } from '#cli/submit/stream-job.ts';
import { findReplica, listReplicaNames } from '#shared/domain/replica-name.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { trialJobIdOf } from '#shared/tuning/trial.ts';

export const jobsStreamLogs: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [
    { name: 'task-name', value: 'REPLICA', summary: 'print the log of this replica only, such as worker-1' },
    { name: 'trial', value: 'N', summary: 'print the log of this trial of a tuning job' },
    ...GCLOUD_JOB_FLAGS,
  ],
  notes: 'Of a tuning job without --trial, prints a line for each trial that has ended.',
  async run(invocation) {
    const { operands, flag } = invocation;
    const [jobId = ''] = operands;
    const streamed = readTrial(jobId, flag('trial'));
    const { api } = await openApi(invocation);
    const taskName = flag('task-name');
    const replica = taskName === undefined ? undefined : chooseReplica(await api.getJob(streamed), taskName);
    await streamJob(invocation, api, { jobId: streamed, replica });
    return 0;
  },
};

function chooseReplica({ jobId, machines, tuning }: JobView, taskName: string): string {
  if (tuning !== null) {
    throw new UsageFailure(`${jobId} is a tuning job: name the trial whose replica it is, with --trial.`);
  }
  const replica = findReplica(machines, taskName);
  if (replica === undefined) {
    throw new UsageFailure(`Job ${jobId} has no replica ${taskName}. Its replicas: ${listReplicaNames(machines)}.`);
  }
  return replica;
}

function readTrial(jobId: string, trial: string | undefined): string {
  if (trial !== undefined && !/^[1-9]\d{0,5}$/.test(trial)) {
    throw new UsageFailure(`--trial must be the id of a trial, a number from 1, not '${trial}'.`);
  }
  return trial === undefined ? jobId : trialJobIdOf(jobId, Number(trial));
}
