import { type Cause, type CauseClass, classOf } from '#shared/domain/cause.ts';
import type { Effect, JobEvent, Transition } from '#shared/domain/event.ts';
import { type Job, stateOf } from '#shared/domain/job.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

/** One entry of the table: what a job becomes by an event, and what must be done about it. */
export type Rule<J extends Job, E extends JobEvent> = (job: J, event: E, timeouts: Timeouts) => Transition;

export function ignore(job: Job): Transition {
  return { job, effects: [] };
}

/** Moves a job, and announces it where users see another state, another attempt or another wait than before. */
export function move(from: Job, to: Job, effects: readonly Effect[] = []): Transition {
  const isVisible =
    stateOf(from) !== stateOf(to) || from.attempt !== to.attempt || isOtherWait(from.waitingFor, to.waitingFor);
  return { job: to, effects: isVisible ? [...effects, jobUpdateOf(to)] : effects };
}

/** Causes whose message names the zone, or the copy of the machine image, that was asked last: it changes with each try. */
const SAID_ANEW_EACH_TRY: readonly CauseClass[] = ['capacity', 'rate'];

/** Whether a job waits for something else than before: said once, not at each try that ends the same. */
export function isOtherWait(before: Cause | null, after: Cause | null): boolean {
  if (after === null || before?.code !== after.code) {
    return after !== null;
  }
  return before.message !== after.message && !SAID_ANEW_EACH_TRY.includes(classOf(after));
}

export function jobUpdateOf(job: Job): Effect {
  return { type: 'JOB_UPDATE', jobId: job.jobId, state: stateOf(job), attempt: job.attempt };
}

/** The facts that every job keeps whatever becomes of it. */
export function common(job: Job) {
  const { jobId, spec, packages, source, warnings, createdAt, attempt, placementTry, refusedZones, zones } = job;
  const { firstRanAt, ranMs, counts, ledger, waitingFor } = job;
  return {
    jobId,
    spec,
    packages,
    source,
    warnings,
    createdAt,
    attempt,
    placementTry,
    refusedZones,
    zones,
    firstRanAt,
    ranMs,
    counts,
    ledger,
    waitingFor,
  };
}

/** Whether a message is about the job's present search for a place; one about an older try has no effect. */
export function isCurrentRound(job: Job, event: { readonly attempt: number; readonly placementTry: number }): boolean {
  return event.attempt === job.attempt && event.placementTry === job.placementTry;
}
