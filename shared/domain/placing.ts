import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { closeWith } from '#shared/domain/closing.ts';
import type { Effect, EventOf, QuotaLimit, Transition } from '#shared/domain/event.ts';
import { isPending, type Job, type JobIn, type TimestampMs } from '#shared/domain/job.ts';
import { common, ignore, isCurrentRound, move } from '#shared/domain/rule.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX, type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';

export function provision(job: Job): Effect {
  return { type: 'PROVISION', jobId: job.jobId, attempt: job.attempt, placementTry: job.placementTry };
}

/** The place is written down before anything is created in it: whoever comes after a crash creates the same VMs. */
export function onPlacementChosen(
  job: JobIn<'QUEUED'>,
  event: EventOf<'PLACEMENT_CHOSEN'>,
  timeouts: Timeouts,
): Transition {
  if (!isCurrentRound(job, event) || job.isBackingOff) {
    return ignore(job);
  }
  return move(job, {
    ...common(job),
    status: 'PREPARING',
    placement: event.placement,
    instances: [],
    placedAt: event.at,
    reportedAt: null,
    pendingUntil: null,
    wakeAt: event.at + timeouts.provisionAnswerMs,
  });
}

/**
 * Compute Engine refused: the next zone at once, the same zone later, or the end, by the cause's class. Within an
 * attempt only this event leads from one place to the next, and it is named after the place: handled once, it is never
 * out of date.
 */
export function onPlacementFailed(
  job: JobIn<'PREPARING'>,
  event: EventOf<'PLACEMENT_FAILED'>,
  timeouts: Timeouts,
): Transition {
  if (event.attempt !== job.attempt) {
    return ignore(job);
  }
  const { cause, zonesAvailable, quota } = event.failure;
  const { at } = event;
  const counts = { ...job.counts, refusals: job.counts.refusals + 1, givenUpInRow: 0 };
  const refused = { ...job, counts, waitingFor: cause };
  switch (classOf(cause)) {
    case 'capacity':
    case 'quota': {
      const hopeless = quota === undefined ? [] : zonesWithout(quota, job);
      if (quota !== undefined && hopeless.length === job.zones.length) {
        return closeWith(refused, { state: 'FAILED', cause: noQuota(job, quota, cause) }, { at, timeouts });
      }
      const zones = preferHinted(job.zones, zonesAvailable);
      const refusedZones = [...new Set([...job.refusedZones, job.placement.zone, ...hopeless])];
      const next = seekAgain({ ...refused, zones, refusedZones }, at, timeouts);
      return move(job, next, [provision(next)]);
    }
    case 'rate':
      return move(job, backOffUntil(refused, at + zoneFallbackBackoffMs(0, timeouts), at));
    default:
      return closeWith(refused, { state: 'FAILED', cause }, { at, timeouts });
  }
}

/** The zones that the error named come first, as far as the job may go there; the others keep their order. */
function preferHinted(zones: readonly string[], hinted: readonly string[]): readonly string[] {
  return [...zones.filter((zone) => hinted.includes(zone)), ...zones.filter((zone) => !hinted.includes(zone))];
}

/** The job's zones to which a quota of nothing applies: nobody gives back what nobody may use, so no wait helps there. */
function zonesWithout({ limit, scope }: QuotaLimit, { zones, placement }: JobIn<'PREPARING'>): readonly string[] {
  if (limit > 0) {
    return [];
  }
  return scope === 'PROJECT' ? zones : zones.filter((zone) => regionOf(zone) === regionOf(placement.zone));
}

function noQuota({ placement }: JobIn<'PREPARING'>, { metric, scope }: QuotaLimit, told: Cause): Cause {
  const where = scope === 'PROJECT' ? 'in the whole project' : `in ${regionOf(placement.zone)}`;
  return causeOf(told.code, `The quota ${metric} is 0 ${where}: no wait helps. ${told.message}`, told.evidence);
}

/** `us-central1-a` is a zone of `us-central1` (Compute Engine docs, "Regions and zones"). */
function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf('-'));
}

function seekAgain(job: Job, at: TimestampMs, timeouts: Timeouts): Job {
  return {
    ...common(job),
    placementTry: job.placementTry + 1,
    status: 'QUEUED',
    isBackingOff: false,
    wakeAt: at + timeouts.provisionAnswerMs,
  };
}

/** Every zone has refused: wait, then begin the ladder again, until maxWaitTime is over. */
export function backOff(job: JobIn<'QUEUED'>, event: EventOf<'NO_PLACEMENT_LEFT'>): Transition {
  if (!isCurrentRound(job, event) || job.isBackingOff) {
    return ignore(job);
  }
  const waitingFor = job.waitingFor ?? REFUSED_TO_OTHERS;
  return move(job, backOffUntil({ ...job, waitingFor }, event.retryAt, event.at));
}

const REFUSED_TO_OTHERS = causeOf(
  'STOCKOUT',
  'Every zone that has the machines of the job has just refused them to another job.',
);

function backOffUntil(job: Job, retryAt: TimestampMs, at: TimestampMs): Job {
  return {
    ...common(job),
    refusedZones: [],
    placementTry: job.placementTry + 1,
    status: 'QUEUED',
    isBackingOff: true,
    wakeAt: nextWakeAt(job, at, retryAt - at),
  };
}

/** A job that has never run is looked at when its maxWaitTime is over, too. */
export function nextWakeAt(job: Job, at: TimestampMs, waitMs: number): TimestampMs {
  return Math.max(at, Math.min(at + waitMs, waitDeadlineOf(job) ?? Number.POSITIVE_INFINITY));
}

/**
 * The provision stage gave up on a message of this job. Of each search there are many copies, for the watcher asks
 * again and again: one that ran out of tries, perhaps because there was no room for it, says little of the others. So
 * the search is begun anew, which makes the other copies out of date; its place stays, if it has one, for VMs may have
 * come up there. Better an ended job with the evidence than one that waits for ever: after so many in a row it fails.
 */
export function giveUp(
  job: JobIn<'QUEUED'> | JobIn<'PREPARING'>,
  event: EventOf<'DELIVERY_EXHAUSTED'>,
  timeouts: Timeouts,
): Transition {
  const isAsked = job.status === 'QUEUED' ? !job.isBackingOff : job.instances.length === 0 && !isPending(job);
  if (event.topic !== 'provision' || !isCurrentRound(job, event) || !isAsked) {
    return ignore(job);
  }
  const { at } = event;
  const givenUpInRow = job.counts.givenUpInRow + 1;
  const times = `${givenUpInRow} of ${DELIVERY_FAILURES_IN_ROW_MAX} times in a row`;
  const message = `The provision stage could not handle job ${job.jobId}, ${times}.`;
  const waitingFor = causeOf('INTERNAL_ERROR', message, [event.problem]);
  if (givenUpInRow >= DELIVERY_FAILURES_IN_ROW_MAX) {
    return closeWith(job, { state: 'FAILED', cause: waitingFor }, { at, timeouts });
  }
  const waiting = { ...job, waitingFor, counts: { ...job.counts, givenUpInRow } };
  const backoffMs = zoneFallbackBackoffMs(givenUpInRow - 1, timeouts);
  return move(
    job,
    waiting.status === 'QUEUED'
      ? backOffUntil(waiting, at + backoffMs, at)
      : { ...waiting, placementTry: job.placementTry + 1, wakeAt: nextWakeAt(job, at, backoffMs) },
  );
}

/** When the job must have run for the first time; null when it may wait for ever or has run already. */
export function waitDeadlineOf(job: Job): TimestampMs | null {
  const { maxWaitMs } = job.spec.limits;
  return maxWaitMs === null || job.firstRanAt !== null ? null : job.createdAt + maxWaitMs;
}

/** A waiting job was woken: its time is over, its backoff is over, or the provision message was lost. */
export function onQueuedDeadlinePassed(
  job: JobIn<'QUEUED'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  if (isWaitOver(job, at)) {
    return closeWith(job, { state: 'FAILED', cause: waitExceeded(job) }, { at, timeouts });
  }
  const next: Job = { ...job, isBackingOff: false, wakeAt: at + timeouts.provisionAnswerMs };
  return { job: next, effects: [provision(next)] };
}

export function isWaitOver(job: Job, at: TimestampMs): boolean {
  const waitUntil = waitDeadlineOf(job);
  return waitUntil !== null && at >= waitUntil;
}

export function waitExceeded(job: Job): Cause {
  const last = job.waitingFor;
  const evidence = last === null ? [] : [`${last.code}: ${last.message}`, ...last.evidence];
  const seconds = (job.spec.limits.maxWaitMs ?? 0) / 1_000;
  return causeOf(
    'MAX_WAIT_TIME_EXCEEDED',
    `Job ${job.jobId} did not begin to run within its maxWaitTime of ${seconds} s.`,
    evidence,
  );
}
