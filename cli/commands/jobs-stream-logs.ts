import type { ApiClient } from '#cli/client/api-client.ts';
import { openApi } from '#cli/client/open-api.ts';
import type { Command, Io } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { streamJob } from '#cli/submit/stream-job.ts';
import { findReplica, listReplicaNames } from '#shared/domain/replica-name.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import { toApiDuration } from '#shared/job-file/formats/dropforge/durations.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { trialJobIdOf } from '#shared/tuning/trial.ts';

/** They are held in memory. */
const TAIL_MAX = 100_000;

export const jobsStreamLogs: Command = {
  operands: [{ name: 'JOB', summary: 'the job id (default: the newest job)', count: 'optional' }],
  example: 'digits --tail 20 --no-agent',
  flags: [
    { name: 'task-name', value: 'REPLICA', summary: 'print the log of this replica only, such as worker-1' },
    { name: 'trial', value: 'N', summary: 'print the log of this trial of a tuning job' },
    { name: 'tail', value: 'N', summary: 'of what was printed before, print the last N lines only' },
    { name: 'since', value: 'DURATION', summary: 'print what is not older than this, such as 10m, 2h or a time' },
    { name: 'no-agent', summary: "leave out the agent's own lines, such as those about the setup" },
    ...GCLOUD_JOB_FLAGS,
  ],
  notes: 'Of a tuning job without --trial, prints a line for each trial that has ended.',
  async run(invocation) {
    const { flag, io, operands } = invocation;
    const tail = readNumber(invocation, 'tail', { max: TAIL_MAX });
    const sinceMs = readSince(flag('since'));
    const { api } = await openApi(invocation);
    const jobId = operands[0] ?? (await findNewest(api, io));
    const streamed = readTrial(jobId, flag('trial'));
    const taskName = flag('task-name');
    const replica = taskName === undefined ? undefined : chooseReplica(await api.getJob(streamed), taskName);
    const isSelected = ({ at, stream }: LogEntry) =>
      at >= sinceMs && !(stream === 'agent' && invocation.isSet('no-agent'));
    const filter = invocation.isSet('since') || invocation.isSet('no-agent') ? { isSelected } : {};
    await streamJob(invocation, api, { jobId: streamed, replica, tail, ...filter });
    return 0;
  },
};

/** The time of this machine before which nothing is printed, in milliseconds since the Unix epoch. */
function readSince(text: string | undefined): number {
  // kubectl and gcloud have times, too.
  const at = /^\d{4}-\d\d-\d\d/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  if (!Number.isNaN(at)) {
    return at;
  }
  const durationMs = text === undefined ? Number.POSITIVE_INFINITY : parseDurationMs(toApiDuration(text));
  if (durationMs === undefined) {
    throw new UsageFailure(
      `--since must be a duration, such as 30s, 10m or 2h, or a time such as 2026-01-31T10:00Z, not '${text}'.`,
    );
  }
  return Date.now() - durationMs;
}

async function findNewest(api: ApiClient, { stderr }: Io): Promise<string> {
  const [newest] = await api.listJobs(1);
  if (newest === undefined) {
    throw new Failure(
      `There are no jobs yet. To submit one, run \`${programName()} run .\` in the folder of a program.`,
    );
  }
  stderr.write(`The log of ${newest.jobId}, the newest job:\n`);
  return newest.jobId;
}

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
