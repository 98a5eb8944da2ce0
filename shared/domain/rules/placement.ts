import { type Cause, causeOf } from '#shared/domain/cause.ts';
import type { EventOf, QuotaLimit } from '#shared/domain/event.ts';
import type { Job, JobIn, TimestampMs } from '#shared/domain/job.ts';
import { nextWakeAt } from '#shared/domain/rules/limits.ts';
import { commonFields } from '#shared/domain/rules/rule.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX } from '#shared/domain/timeouts.ts';

/** Retries placement from the first zone at `retryAt`, in a new round that makes messages of earlier rounds stale. */
export function backOffUntil(job: Job, retryAt: TimestampMs, at: TimestampMs): Job {
  return {
    ...commonFields(job),
    exhaustedZones: [],
    placementRound: job.placementRound + 1,
    status: 'QUEUED',
    isBackingOff: true,
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

/** The job's zones in which the quota is 0, so that no wait helps; empty for any other limit. */
export function zonesWithoutQuota(
  { limit, scope }: QuotaLimit,
  { zones, placement }: JobIn<'PREPARING'>,
): readonly string[] {
  if (limit > 0) {
    return [];
  }
  return scope === 'PROJECT' ? zones : zones.filter((zone) => regionOf(zone) === regionOf(placement.zone));
}

export function zeroQuotaCause({ placement }: JobIn<'PREPARING'>, { metric, scope }: QuotaLimit, cause: Cause): Cause {
  const where = scope === 'PROJECT' ? 'in the whole project' : `in ${regionOf(placement.zone)}`;
  const message = `The quota ${metric} is 0 ${where}, so waiting does not help. ${cause.message}`;
  return causeOf(cause.code, message, cause.evidence);
}

/** `us-central1-a` is a zone of `us-central1` (Compute Engine docs, "Regions and zones"). */
function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf('-'));
}

/** The job with one more delivery failure in a row, shown as what it waits for. */
export function countDeliveryFailure<J extends JobIn<'QUEUED'> | JobIn<'PREPARING'>>(
  job: J,
  { problem }: EventOf<'DELIVERY_EXHAUSTED'>,
): { readonly counted: J; readonly cause: Cause; readonly isLast: boolean } {
  const deliveryFailuresInRow = job.counts.deliveryFailuresInRow + 1;
  const message = `The provision stage failed to handle job ${job.jobId} (failure ${deliveryFailuresInRow} of ${DELIVERY_FAILURES_IN_ROW_MAX} in a row).`;
  const cause = causeOf('INTERNAL_ERROR', message, [problem]);
  const counted = { ...job, waitingFor: cause, counts: { ...job.counts, deliveryFailuresInRow } };
  return { counted, cause, isLast: deliveryFailuresInRow >= DELIVERY_FAILURES_IN_ROW_MAX };
}
