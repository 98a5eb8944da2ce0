import { type Cause, causeOf } from '#shared/domain/cause.ts';
import { type Job, replicasOf, type TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import {
  PERIMETER_SETTLING_MS_MAX,
  QUOTA_WAIT_MS_MAX,
  UNUSED_FLEX_START_VMS_PER_REPLICA_MAX,
  UNUSED_VMS_PER_REPLICA_MAX,
} from '#shared/domain/timeouts.ts';

/**
 * Latest time by which the job must run: its maxWaitTime, for the first time only; otherwise, while it waits for a
 * quota, the default for such a wait. Null if it may wait indefinitely.
 */
export function waitDeadlineOf(job: Job): TimestampMs | null {
  const { maxWaitMs } = job.spec.limits;
  if (maxWaitMs !== null && job.firstRanAt === null) {
    return job.createdAt + maxWaitMs;
  }
  return job.quotaWaitSince === null ? null : job.quotaWaitSince + QUOTA_WAIT_MS_MAX;
}

export function isWaitOver(job: Job, at: TimestampMs): boolean {
  const deadline = waitDeadlineOf(job);
  return deadline !== null && at >= deadline;
}

/** When to re-check the job: after `waitMs`, or when its maxWaitTime is over if that is sooner. */
export function nextWakeAt(job: Job, at: TimestampMs, waitMs: number): TimestampMs {
  return Math.max(at, Math.min(at + waitMs, waitDeadlineOf(job) ?? Number.POSITIVE_INFINITY));
}

/** The job with the time of its first denial if that is recent enough for a retry; null for any other cause. */
export function recordDenial<J extends Job>(job: J, { code }: Cause, at: TimestampMs): J | null {
  const deniedSince = job.deniedSince ?? at;
  return code === 'PERIMETER_DENIED' && at - deniedSince < PERIMETER_SETTLING_MS_MAX ? { ...job, deniedSince } : null;
}

/** `unstarted`: what the replicas of a cluster do whose programs have not started; undefined if it has no VMs. */
export function maxWaitTimeExceeded(job: Job, unstarted?: string): Cause {
  const { jobId, spec, firstRanAt } = job;
  const { maxWaitMs } = spec.limits;
  const message =
    maxWaitMs !== null && firstRanAt === null
      ? `Job ${jobId} did not start running within its maxWaitTime of ${maxWaitMs / 1_000} s.`
      : `Job ${jobId} waited for a quota for ${QUOTA_WAIT_MS_MAX / 3_600_000} hours, the default maxWaitTime of such a wait.`;
  return causeOf('MAX_WAIT_TIME_EXCEEDED', message, unstarted === undefined ? lastFailureOf(job) : [unstarted]);
}

/** Limit on VMs in a row on which the program has not run. */
export function unusedVmsMax(spec: JobSpec): number {
  const count = replicasOf(spec).length;
  const isAssembled = spec.provisioningModel === 'FLEX_START' && count > 1;
  return count * (isAssembled ? UNUSED_FLEX_START_VMS_PER_REPLICA_MAX : UNUSED_VMS_PER_REPLICA_MAX);
}

export function hasTooManyUnusedVms({ counts, spec }: Job): boolean {
  return counts.unusedVms >= unusedVmsMax(spec);
}

export function unusedVmLimitExceeded(job: Job): Cause {
  const message = `${job.counts.unusedVms} VMs of job ${job.jobId} were created and deleted in a row without its program having run; the limit is ${unusedVmsMax(job.spec)}.`;
  return causeOf('UNUSED_VM_LIMIT_EXCEEDED', message, lastFailureOf(job));
}

/** The cause that ends a job of which two VMs did not reach the same host before a program ran; null otherwise. */
export function hostUnreachable({ ledger }: Job, { message, evidence, unreachableHost }: Cause): Cause | null {
  const sinceRun = ledger.slice(ledger.findLastIndex(({ ranAt }) => ranAt !== null) + 1);
  const isRepeated = sinceRun.some(({ cause }) => cause?.unreachableHost === unreachableHost);
  return unreachableHost !== undefined && isRepeated
    ? causeOf('HOST_UNREACHABLE', `Two VMs did not reach ${unreachableHost}. ${message}`, evidence)
    : null;
}

function lastFailureOf({ waitingFor }: Job): readonly string[] {
  return waitingFor === null ? [] : [`${waitingFor.code}: ${waitingFor.message}`, ...waitingFor.evidence];
}

export function maxRunningTimeExceeded({ jobId, spec }: Job, evidence: readonly string[]): Cause {
  const message = `Job ${jobId} ran longer than its maxRunningTime of ${spec.limits.maxRunningMs / 1_000} s.`;
  return causeOf('MAX_RUNNING_TIME_EXCEEDED', message, evidence);
}
