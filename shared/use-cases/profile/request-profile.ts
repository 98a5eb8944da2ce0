import {
  isPlaced,
  type Job,
  type JobIn,
  replicaName,
  replicasOf,
  stateOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { type ProfileRequest, profileStateOf } from '#shared/domain/profile.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

export type ProfilePorts = EventPorts & { readonly replicas: Pick<ReplicaStore, 'listByJob'> };

export type ProfileOutcome =
  | { readonly outcome: 'REQUESTED'; readonly job: JobIn<'RUNNING'>; readonly request: ProfileRequest }
  | { readonly outcome: 'REFUSED'; readonly message: string; readonly remedy: string };

/**
 * Asks the agent of a replica for a profile. A request while one of the same replica and length is in progress is that
 * one, so it can be repeated when its answer was lost; another one is refused until it has ended.
 */
export async function requestProfile(
  ports: ProfilePorts,
  job: Job,
  wanted: { readonly replica: string; readonly seconds: number; readonly at: TimestampMs },
): Promise<ProfileOutcome> {
  const refusal = reasonToRefuse(job, wanted.replica);
  if (refusal !== null || job.status !== 'RUNNING') {
    return refusal ?? refuse(`Job ${job.jobId} is ${stateOf(job)}.`, 'Profile it while it is RUNNING.');
  }
  const current = await readCurrent(ports, job, wanted.at);
  if (current !== null) {
    return current.replica === wanted.replica && current.seconds === wanted.seconds
      ? { outcome: 'REQUESTED', job, request: current }
      : refuse(
          `Replica ${current.replica} of job ${job.jobId} is being profiled for ${current.seconds} s.`,
          'Wait for its end: one profile of a job is recorded at a time.',
        );
  }
  const { jobId, attempt } = job;
  const { replica, seconds, at } = wanted;
  const ordinal = (job.profile?.ordinal ?? 0) + 1;
  const eventId = `profile-requested-${attempt}-${ordinal}`;
  const after = await handleJobEvent(ports, {
    type: 'PROFILE_REQUESTED',
    eventId,
    jobId,
    at,
    attempt,
    replica,
    ordinal,
    seconds,
  });
  if (after?.status !== 'RUNNING' || after.attempt !== attempt || after.profile === null) {
    return refuse(`Job ${jobId} has just left the state RUNNING.`, 'Profile it when it is RUNNING again.');
  }
  return after.profile.replica === replica && after.profile.seconds === seconds
    ? { outcome: 'REQUESTED', job: after, request: after.profile }
    : refuse(`Another profile of job ${jobId} was requested at the same time.`, 'Wait for its end.');
}

/** The request that is in progress; null if there is none. */
async function readCurrent(
  ports: ProfilePorts,
  job: JobIn<'RUNNING'>,
  now: TimestampMs,
): Promise<ProfileRequest | null> {
  if (job.profile === null) {
    return null;
  }
  const { state } = profileStateOf(job.profile, await readReported(ports, job), now);
  return state === 'REQUESTED' || state === 'RECORDING' ? job.profile : null;
}

/** What the agent of the requested replica last reported of a profile. */
export async function readReported(
  { replicas }: Pick<ProfilePorts, 'replicas'>,
  { jobId, attempt, profile }: JobIn<'RUNNING'>,
) {
  const records = await replicas.listByJob(jobId);
  return records.find((one) => one.attempt === attempt && one.replica === profile?.replica)?.profile ?? null;
}

function reasonToRefuse(job: Job, replica: string): ProfileOutcome | null {
  const names = replicasOf(job.spec).map(replicaName);
  if (!names.includes(replica)) {
    const shown = names.length > 8 ? `${names.slice(0, 8).join(', ')} and ${names.length - 8} more` : names.join(', ');
    return refuse(`Job ${job.jobId} has no replica ${replica}.`, `Its replicas are ${shown}.`);
  }
  if (job.status === 'RUNNING' && (job.uploadingAt !== null || job.stopRequestedAt !== null)) {
    return refuse(`The program of job ${job.jobId} has ended or is ending.`, 'Profile a job while its program runs.');
  }
  if (job.status !== 'RUNNING') {
    const remedy =
      isPlaced(job) || job.status === 'QUEUED'
        ? 'Profile it when it is RUNNING.'
        : 'Its earlier profiles are in the job directory.';
    return refuse(`Job ${job.jobId} is ${stateOf(job)}: no program runs.`, remedy);
  }
  return null;
}

function refuse(message: string, remedy: string): ProfileOutcome {
  return { outcome: 'REFUSED', message, remedy };
}
