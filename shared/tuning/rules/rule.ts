import { pickFields } from '#shared/domain/stated.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { commonSchema, stateOfTuning, type Tuning, type TuningCommon, type TuningIn } from '#shared/tuning/tuning.ts';
import { type Changes, type TuningTransition, tuningUpdateOf } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent } from '#shared/tuning/tuning-event.ts';

export type Searching = TuningIn<'SEARCHING'>;
export type Closing = TuningIn<'CLOSING'>;

/** One entry of the table: the tuning after an event, the changed trials, and the effects to publish. */
export type TuningRule<T extends Tuning, E extends TuningEvent> = (
  tuning: T,
  event: E,
  timeouts: Timeouts,
) => TuningTransition;

export const NO_CHANGES: Changes = { trials: [], effects: [] };

/** Returns the same tuning object, by which callers recognize that there is nothing to commit. */
export function ignore(tuning: Tuning): TuningTransition {
  return { tuning, ...NO_CHANGES };
}

/** Adds an update when users see another state than before, or another trial has ended. */
export function move(from: Tuning, to: Tuning, { trials, effects }: Changes): TuningTransition {
  const hasEndedTrial = trials.some(({ outcome }) => outcome !== null);
  const isVisible = hasEndedTrial || stateOfTuning(from) !== stateOfTuning(to);
  return { tuning: to, trials, effects: isVisible ? [...effects, tuningUpdateOf(to)] : effects };
}

/** The fields that a tuning has in every status. */
export function commonFields(tuning: Tuning): TuningCommon {
  return pickFields(commonSchema.shape, tuning);
}
