import { abridge, type Cause, causeOf } from '#shared/domain/cause.ts';
import { type Transition, teardownOf } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import {
  ATTEMPT_RECORDS_MAX,
  type AttemptRecord,
  currentAttemptOf,
  isPlaced,
  type Job,
  type JobIn,
  type KeptVm,
  stateOf,
  type TimestampMs,
  type UnfinishedJob,
  type Verdict,
} from '#shared/domain/job.ts';
import { EVIDENT_RECORDS_MAX } from '#shared/domain/job-size.ts';
import { commonFields, type Moment, move } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

type OpenJob = Exclude<UnfinishedJob, JobIn<'CLOSING'>>;

/**
 * The verdict is final from here. The job is CLOSED once Compute Engine lists none of its VMs. A failure that keeps a
 * VM is shown at once, and the teardown, which deletes the others, is repeated to notice that the kept one has ended.
 */
export function closeJob(
  job: OpenJob,
  verdict: Verdict,
  { at, timeouts, kept = null }: Moment & { readonly kept?: KeptVm | null },
): Transition {
  const next: Job = {
    ...commonFields(job),
    endedPlacements: countEnded(job),
    ledger: recordAttempt(job, at, verdict.cause),
    waitingFor: null,
    status: 'CLOSING',
    verdict,
    shownAs: kept === null ? stateOf(job) : 'FAILED',
    kept,
    wakeAt: kept === null ? at + timeouts.teardownMs : nextKeptCheckAt(kept, at, timeouts),
  };
  return move(job, next, [teardownOf(job)]);
}

export function nextKeptCheckAt({ until }: KeptVm, at: TimestampMs, { keptCheckMs }: Timeouts): TimestampMs {
  return Math.min(until, at + keptCheckMs);
}

/** The ended placements with the current one, if there is one. */
export function countEnded(job: OpenJob): number {
  return job.endedPlacements + (isPlaced(job) ? 1 : 0);
}

export function failJob(job: OpenJob, cause: Cause, moment: Moment): Transition {
  return closeJob(job, { state: 'FAILED', cause }, moment);
}

/** The job is cancelled, and the VMs that it has or that are being created for it are deleted. */
export function onCancelRequested(
  job: OpenJob,
  { at, by }: EventOf<'CANCEL_REQUESTED'>,
  timeouts: Timeouts,
): Transition {
  const cause =
    by === 'TUNING'
      ? causeOf('TRIAL_CANCELLED', `Job ${job.jobId} was cancelled, because its tuning has ended.`)
      : causeOf('CANCELLED_BY_USER', `Job ${job.jobId} was cancelled on request.`);
  return closeJob(job, { state: 'CANCELLED', cause }, { at, timeouts });
}

/** The ledger with the current attempt added. Only the newest records keep their evidence. */
export function recordAttempt(job: Job, endedAt: TimestampMs, cause: Cause | null): readonly AttemptRecord[] {
  const newest = [...job.ledger, { ...currentAttemptOf(job), endedAt, cause }].slice(-ATTEMPT_RECORDS_MAX);
  const isOld = (index: number) => index < newest.length - EVIDENT_RECORDS_MAX;
  return newest.map((each, index) => (isOld(index) && each.cause ? { ...each, cause: abridge(each.cause) } : each));
}
