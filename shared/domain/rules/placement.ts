import { type Cause, causeOf } from '#shared/domain/cause.ts';
import type { Transition } from '#shared/domain/effect.ts';
import type { EventOf, QuotaLimit } from '#shared/domain/event.ts';
import { isPending, type Job, type JobIn, regionOf, type TimestampMs } from '#shared/domain/job.ts';
import { failJob } from '#shared/domain/rules/close.ts';
import { nextWakeAt } from '#shared/domain/rules/limits.ts';
import { commonFields, ignore, move } from '#shared/domain/rules/rule.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX, type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';

/** Retries placement from the first zone at `retryAt`, in a new round that makes messages of earlier rounds stale. */
export function backOffUntil(job: Job, retryAt: TimestampMs, at: TimestampMs): Job {
  return {
    ...commonFields(job),
    exhaustedZones: [],
    placementRound: job.placementRound + 1,
    status: 'QUEUED',
    isBackingOff: true,
    isAdmitted: false,
    wakeAt: nextWakeAt(job, at, retryAt - at),
  };
}

/** Moves the zones that Compute Engine's error recommends to the front, if the job may use them. */
export function preferZones(zones: readonly string[], recommended: readonly string[]): readonly string[] {
  return [
    ...zones.filter((zone) => recommended.includes(zone)),
    ...zones.filter((zone) => !recommended.includes(zone)),
  ];
}

/**
 * The cause if the job could not run even if nothing else used the quota; null if it could, or if that is not known.
 */
export function tooSmallQuotaCause(
  { placement }: JobIn<'PREPARING'>,
  { cause, quota, demand }: { readonly cause: Cause; readonly quota: QuotaLimit; readonly demand: number | null },
): Cause | null {
  const { metric, limit, scope } = quota;
  if (limit > 0 && (demand === null || demand <= limit)) {
    return null;
  }
  const where = scope === 'PROJECT' ? 'in the whole project' : `in ${regionOf(placement.zone)}`;
  const need = demand === null ? '' : `, and the job needs ${demand}`;
  const message = `The quota ${metric} is ${limit} ${where}${need}, so waiting does not help. ${cause.message}`;
  return causeOf(cause.code, message, cause.evidence);
}

/**
 * A provision message of this job is among the dead letters: after a backoff, a new round makes its copies stale. It
 * keeps a placement, since VMs may have been created there. One round has many copies, since the reconciler
 * republishes: that one of them ran out of deliveries, possibly for lack of instances, says little about the others.
 * After DELIVERY_FAILURES_IN_ROW_MAX in a row the job fails with the evidence rather than wait indefinitely.
 */
export function onDeliveryExhausted(
  job: JobIn<'QUEUED'> | JobIn<'PREPARING'>,
  { topic, problem, at }: EventOf<'DELIVERY_EXHAUSTED'>,
  timeouts: Timeouts,
): Transition {
  const isAnswered = job.status === 'QUEUED' ? job.isBackingOff : job.instances.length > 0 || isPending(job);
  if (topic !== 'provision' || isAnswered) {
    return ignore(job);
  }
  const deliveryFailuresInRow = job.counts.deliveryFailuresInRow + 1;
  const message = `The provision stage failed to handle job ${job.jobId} (failure ${deliveryFailuresInRow} of ${DELIVERY_FAILURES_IN_ROW_MAX} in a row).`;
  const cause = causeOf('INTERNAL_ERROR', message, [problem]);
  const counted = { ...job, waitingFor: cause, counts: { ...job.counts, deliveryFailuresInRow } };
  if (deliveryFailuresInRow >= DELIVERY_FAILURES_IN_ROW_MAX) {
    return failJob(job, cause, { at, timeouts });
  }
  const backoffMs = zoneFallbackBackoffMs(deliveryFailuresInRow - 1, timeouts);
  return move(
    job,
    counted.status === 'QUEUED'
      ? backOffUntil(counted, at + backoffMs, at)
      : { ...counted, placementRound: job.placementRound + 1, wakeAt: nextWakeAt(job, at, backoffMs) },
  );
}

/** The VMs of ended placements are gone, and count no more. The fence: none has ended since they were listed. */
export function onEndedPlacementsGone(
  job: Exclude<Job, JobIn<'CLOSED'>>,
  event: EventOf<'ENDED_PLACEMENTS_GONE'>,
): Transition {
  const isCurrent = (job.status === 'CLOSING') === event.isClosing;
  return isCurrent && job.endedPlacements > 0 ? { job: { ...job, endedPlacements: 0 }, effects: [] } : ignore(job);
}
