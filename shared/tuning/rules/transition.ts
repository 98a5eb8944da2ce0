import { changeOf } from '#shared/domain/history.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import { TIMEOUTS, type Timeouts } from '#shared/domain/timeouts.ts';
import * as closing from '#shared/tuning/rules/closing.ts';
import { ignore, type TuningRule } from '#shared/tuning/rules/rule.ts';
import * as searching from '#shared/tuning/rules/searching.ts';
import type { Tuning, TuningIn, TuningStatus } from '#shared/tuning/tuning.ts';
import type { TuningTransition } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent, TuningEventOf, TuningEventType } from '#shared/tuning/tuning-event.ts';

export type TuningRules = {
  readonly [S in TuningStatus]: { readonly [E in TuningEventType]?: TuningRule<TuningIn<S>, TuningEventOf<E>> };
};

/** The whole state machine of tunings. An event without an entry for the tuning's status is ignored. */
export const RULES: TuningRules = {
  SEARCHING: {
    VALUES_CHOSEN: searching.onValuesChosen,
    TRIAL_CLOSED: searching.onTrialClosed,
    RUNG_REACHED: searching.onRungReached,
    CANCEL_REQUESTED: searching.onCancelRequested,
    DELIVERY_EXHAUSTED: searching.onDeliveryExhausted,
    DEADLINE_PASSED: searching.onDeadlinePassed,
  },
  CLOSING: {
    TRIAL_CLOSED: closing.onTrialClosed,
    DEADLINE_PASSED: closing.onDeadlinePassed,
  },
  CLOSED: {},
};

/** The effect of an event on a tuning: one line of the log, and an entry of its history if the state has changed. */
export function tuningEntryOf(before: Tuning, after: Tuning, event: TuningEvent): HistoryEntry {
  const cause = 'verdict' in after ? (after.verdict.cause?.code ?? null) : null;
  return { ...changeOf(before, after, event), attempt: 0, placementRound: 0, zone: null, cause };
}

function withHistory(before: Tuning, after: Tuning, event: TuningEvent): Tuning {
  const entry = tuningEntryOf(before, after, event);
  return entry.from === entry.to ? after : { ...after, history: [...after.history, entry] };
}

/**
 * Returns the next tuning, the trials that were added or changed, and the effects to publish. Pure: no clock, no
 * randomness, no I/O.
 */
export function transitionTuning(tuning: Tuning, event: TuningEvent, timeouts: Timeouts = TIMEOUTS): TuningTransition {
  // TypeScript cannot correlate the two look-ups; the TuningRules type has checked every entry.
  const rule = RULES[tuning.status][event.type] as TuningRule<Tuning, TuningEvent> | undefined;
  // The reconciler may wake a tuning whose deadline has moved since.
  const isEarly = event.type === 'DEADLINE_PASSED' && tuning.status !== 'CLOSED' && event.at < tuning.wakeAt;
  const { tuning: next, ...changes } = rule === undefined || isEarly ? ignore(tuning) : rule(tuning, event, timeouts);
  return { tuning: next === tuning ? tuning : withHistory(tuning, next, event), ...changes };
}
