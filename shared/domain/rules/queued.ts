import { type Cause, causeOf } from '#shared/domain/cause.ts';
import { provisionOf, type Transition, teardownOf } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import { type JobIn, replicasOf, type TimestampMs } from '#shared/domain/job.ts';
import { closeJob, failJob } from '#shared/domain/rules/close.ts';
import {
  hasTooManyUnusedVms,
  isWaitOver,
  maxWaitTimeExceeded,
  unusedVmLimitExceeded,
} from '#shared/domain/rules/limits.ts';
import { backOffUntil } from '#shared/domain/rules/placement.ts';
import { commonFields, ignore, move } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { isVmLimitName } from '#shared/domain/vm-limits.ts';

type Queued = JobIn<'QUEUED'>;

/**
 * The zone is committed before anything is created in it, so that a retry after a crash creates the same VMs. Nothing
 * is created any more once too many VMs were in vain.
 */
export function onPlacementChosen(job: Queued, event: EventOf<'PLACEMENT_CHOSEN'>, timeouts: Timeouts): Transition {
  if (job.isBackingOff) {
    return ignore(job);
  }
  if (hasTooManyUnusedVms(job)) {
    return failJob(job, unusedVmLimitExceeded(job), { at: event.at, timeouts });
  }
  return move(job, {
    ...commonFields(job),
    status: 'PREPARING',
    placement: event.placement,
    instances: [],
    placedAt: event.at,
    reportedAt: null,
    pendingUntil: null,
    assemblingSince: null,
    heldFailure: null,
    waitsFor: isVmLimitName(job.waitsFor?.metric) ? null : job.waitsFor,
    wakeAt: event.at + timeouts.provisionAnswerMs,
  });
}

/**
 * Every zone is out of capacity, or held for jobs before this one, or the VMs of others leave too little of a limit of
 * the deployment: back off, then retry from the first zone, until maxWaitTime is over. A job that exceeds such a limit
 * by itself fails.
 */
export function onNoPlacementLeft(job: Queued, event: EventOf<'NO_PLACEMENT_LEFT'>, timeouts: Timeouts): Transition {
  if (job.isBackingOff) {
    return ignore(job);
  }
  const { exceeded, retryAt, at } = event;
  if (exceeded?.isTooLow) {
    return failJob(job, exceeded.cause, { at, timeouts });
  }
  const next = backOffUntil({ ...job, ...waitOf(job, event) }, retryAt, at);
  // VMs of earlier placements, which a lost message has left, may be all that exceeds the limit.
  return move(job, next, job.endedPlacements > 0 ? [teardownOf(job)] : []);
}

function waitOf(job: Queued, { behind, exceeded, at }: EventOf<'NO_PLACEMENT_LEFT'>): Partial<Queued> {
  if (exceeded !== null) {
    return { waitingFor: exceeded.cause, waitsFor: exceeded.waitsFor, quotaWaitSince: null };
  }
  if (behind !== null) {
    const quotaWaitSince = behind.isQuota ? (job.quotaWaitSince ?? at) : null;
    return { waitingFor: waitsBehind(behind.jobIds), waitsFor: { ...behind.waitsFor, isHeld: true }, quotaWaitSince };
  }
  const isLeft = job.waitsFor?.isHeld || isVmLimitName(job.waitsFor?.metric);
  return isLeft
    ? { waitingFor: STOCKOUT_OF_OTHER_JOBS, waitsFor: null }
    : { waitingFor: job.waitingFor ?? STOCKOUT_OF_OTHER_JOBS };
}

/** Not all of the earlier jobs are read. */
const COUNTED_MAX = 50;

function waitsBehind([first = '', ...others]: readonly string[]): Cause {
  const more = others.length === 0 ? '' : ` and ${others.length < COUNTED_MAX ? others.length : 'many'} more`;
  return causeOf('WAITS_FOR_MACHINE', `What becomes free is held for job ${first}${more}, submitted before this one.`);
}

/** The training is finished, whatever ended its VM then: no VM is created. */
export function onSuccessFound(job: Queued, { at }: EventOf<'SUCCESS_FOUND'>, timeouts: Timeouts): Transition {
  return closeJob(job, { state: 'SUCCEEDED', cause: null }, { at, timeouts });
}

const STOCKOUT_OF_OTHER_JOBS = causeOf(
  'STOCKOUT',
  "Every zone that offers the job's machines has just been out of capacity, or had a faulty GPU, for another job.",
);

/** maxWaitTime is over, the backoff is over, or the provision message was lost. */
export function onDeadlinePassed(job: Queued, { at }: EventOf<'DEADLINE_PASSED'>, timeouts: Timeouts): Transition {
  if (isWaitOver(job, at)) {
    return failJob(job, maxWaitTimeExceeded(job), { at, timeouts });
  }
  return tryAgain(job, at, timeouts);
}

/**
 * The first of the jobs that wait for a limit tries again; a cluster that was created in part and deleted keeps its
 * backoff, since each of its tries is billed.
 */
export function onCapacityFreed(job: Queued, { at }: EventOf<'CAPACITY_FREED'>, timeouts: Timeouts): Transition {
  const isBilled = job.counts.unusedVms > 0 && replicasOf(job.spec).length > 1;
  return job.isBackingOff && job.waitsFor !== null && !isBilled ? tryAgain(job, at, timeouts) : ignore(job);
}

function tryAgain(job: Queued, at: TimestampMs, timeouts: Timeouts): Transition {
  const next: Queued = { ...job, isBackingOff: false, wakeAt: at + timeouts.provisionAnswerMs };
  return { job: next, effects: [provisionOf(next)] };
}
