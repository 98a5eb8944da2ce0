import { type Cause, causeOf } from '#shared/domain/cause.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';

/** Latest time by which the job must run for the first time; null if it has run already or may wait indefinitely. */
export function waitDeadlineOf(job: Job): TimestampMs | null {
  const { maxWaitMs } = job.spec.limits;
  return maxWaitMs === null || job.firstRanAt !== null ? null : job.createdAt + maxWaitMs;
}

export function isWaitOver(job: Job, at: TimestampMs): boolean {
  const deadline = waitDeadlineOf(job);
  return deadline !== null && at >= deadline;
}

/** When to re-check the job: after `waitMs`, or when its maxWaitTime is over if that is sooner. */
export function nextWakeAt(job: Job, at: TimestampMs, waitMs: number): TimestampMs {
  return Math.max(at, Math.min(at + waitMs, waitDeadlineOf(job) ?? Number.POSITIVE_INFINITY));
}

export function maxWaitTimeExceeded({ jobId, spec, waitingFor }: Job): Cause {
  const evidence = waitingFor === null ? [] : [`${waitingFor.code}: ${waitingFor.message}`, ...waitingFor.evidence];
  const message = `Job ${jobId} did not start running within its maxWaitTime of ${(spec.limits.maxWaitMs ?? 0) / 1_000} s.`;
  return causeOf('MAX_WAIT_TIME_EXCEEDED', message, evidence);
}

export function maxRunningTimeExceeded({ jobId, spec }: Job, evidence: readonly string[]): Cause {
  const message = `Job ${jobId} ran longer than its maxRunningTime of ${spec.limits.maxRunningMs / 1_000} s.`;
  return causeOf('MAX_RUNNING_TIME_EXCEEDED', message, evidence);
}
