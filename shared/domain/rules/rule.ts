import { type Cause, type CauseClass, classOf } from '#shared/domain/cause.ts';
import { type Effect, jobUpdateOf, type Transition } from '#shared/domain/effect.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { commonShape, type Job, stateOf, type TimestampMs } from '#shared/domain/job.ts';
import { pickFields } from '#shared/domain/stated.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

/** One entry of the table: the job after an event, and the effects to publish. */
export type Rule<J extends Job, E extends JobEvent> = (job: J, event: E, timeouts: Timeouts) => Transition;

/** A shell was opened, or a command run, in a VM of the job: only the history changes. */
export function onShellOpened<J extends Job>(job: J): Transition {
  return { job: { ...job }, effects: [] };
}

/** When an event happened, and the timeouts from which the next deadline follows. */
export type Moment = { readonly at: TimestampMs; readonly timeouts: Timeouts };

/** Returns the same job object, by which callers recognize that there is nothing to commit. */
export function ignore(job: Job): Transition {
  return { job, effects: [] };
}

/**
 * Adds a job update when users see another state, another attempt or another reason for waiting than before, and when a
 * VM that was kept is gone.
 */
export function move(from: Job, to: Job, effects: readonly Effect[] = []): Transition {
  const isVisible =
    stateOf(from) !== stateOf(to) ||
    from.attempt !== to.attempt ||
    isNewWait(from.waitingFor, to.waitingFor) ||
    hasEndedKeeping(from, to);
  return { job: to, effects: isVisible ? [...effects, jobUpdateOf(to)] : effects };
}

/** The failure of a job that kept a VM was shown before: that nothing is left of it now, with its cost, was not. */
function hasEndedKeeping(before: Job, after: Job): boolean {
  return before.status !== 'CLOSED' && after.status === 'CLOSED' && after.kept !== null;
}

/**
 * Causes whose message names the last zone or copy of the machine image that was tried, so it varies between rounds.
 */
const CLASSES_WITH_VARYING_MESSAGES: readonly CauseClass[] = ['capacity', 'rate'];

/** Whether the reason for waiting has changed. Repeated rounds with the same result are published once. */
function isNewWait(before: Cause | null, after: Cause | null): boolean {
  if (after === null || before?.code !== after.code) {
    return after !== null;
  }
  return before.message !== after.message && !CLASSES_WITH_VARYING_MESSAGES.includes(classOf(after));
}

/** The fields that a job has in every status. */
export function commonFields(job: Job) {
  return pickFields(commonShape, job);
}
