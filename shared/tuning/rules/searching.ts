import { causeOf, classOf } from '#shared/domain/cause.ts';
import {
  LOST_TRIALS_IN_ROW_MAX,
  SUGGESTION_FAILURES_IN_ROW_MAX,
  type Timeouts,
  TRIAL_CHECKS_MAX,
} from '#shared/domain/timeouts.ts';
import { advance, type NewTrial, requestOf, suggestionOf } from '#shared/tuning/rules/advance.ts';
import { cancelTuning, failTuning } from '#shared/tuning/rules/close.ts';
import { type Counted, countTrial } from '#shared/tuning/rules/count-trial.ts';
import { failureOf } from '#shared/tuning/rules/failure-limits.ts';
import { ignore, NO_CHANGES, type Searching } from '#shared/tuning/rules/rule.ts';
import { recordRung } from '#shared/tuning/stopping/asha.ts';
import type { TuningTransition } from '#shared/tuning/tuning-effect.ts';
import type { TuningEventOf } from '#shared/tuning/tuning-event.ts';

/**
 * The values are committed before anything is started, as a placement is. `from` fences off late and duplicate answers:
 * no two requests have the same.
 */
export function onValuesChosen(
  tuning: Searching,
  { at, from, values }: TuningEventOf<'VALUES_CHOSEN'>,
  timeouts: Timeouts,
): TuningTransition {
  const { asked } = tuning;
  if (asked === null || asked.from !== from) {
    return ignore(tuning);
  }
  const chosen = values.slice(0, asked.count);
  const answered: Searching = {
    ...tuning,
    asked: null,
    suggestFailuresInRow: 0,
    isExhausted: chosen.length < asked.count,
  };
  const starts = chosen.map((each, index) => ({ ordinal: from + index, values: each, repeats: null, lostBefore: 0 }));
  return advance(answered, { from: tuning, at, timeouts, starts, ...NO_CHANGES });
}

/** One trial has ended: the tuning fails if that shows that it cannot succeed, and otherwise goes on. */
export function onTrialClosed(
  tuning: Searching,
  event: TuningEventOf<'TRIAL_CLOSED'>,
  timeouts: Timeouts,
): TuningTransition {
  const ending = countTrial(tuning, event);
  if (ending === undefined) {
    return ignore(tuning);
  }
  const { counted, trial } = ending;
  const context = { from: tuning, at: event.at, timeouts, trials: [trial], effects: [] };
  // A search that has ended has its result: what still runs can no longer make it fail.
  const failure = counted.stopReason === null ? failureAfter(event, ending) : null;
  if (failure !== null) {
    return failTuning(counted, failure, context);
  }
  const repeated = repeatOf(event, ending);
  const next = repeated === null ? counted : { ...counted, lastOrdinal: repeated.ordinal };
  return advance(next, { ...context, starts: repeated === null ? [] : [repeated] });
}

function failureAfter({ outcome }: TuningEventOf<'TRIAL_CLOSED'>, { counted, ended }: Counted<Searching>) {
  const { tuningId } = counted;
  const cause = 'cause' in outcome ? outcome.cause : null;
  if (cause !== null && classOf(cause) === 'configuration') {
    const message = `Trial ${ended.ordinal} of tuning ${tuningId} failed for a reason that all trials share: ${cause.message}`;
    return causeOf(cause.code, message, cause.evidence);
  }
  const isLostOften = Math.min(counted.lostInRow, ended.lostBefore + 1) >= LOST_TRIALS_IN_ROW_MAX;
  if (cause !== null && outcome.kind === 'LOST' && classOf(cause) !== 'cancel' && isLostOften) {
    const message = `${LOST_TRIALS_IN_ROW_MAX} trials of tuning ${tuningId} in a row with the same values were lost. Last: ${cause.message}`;
    return causeOf(cause.code, message, cause.evidence);
  }
  return failureOf(counted);
}

/** A trial that was lost says nothing about its values: they are tried again, unless a user or the tuning ended it. */
function repeatOf(event: TuningEventOf<'TRIAL_CLOSED'>, { counted, ended }: Counted<Searching>): NewTrial | null {
  const { outcome, values, ordinal } = event;
  const lostBefore = ended.lostBefore + 1;
  const isRepeated =
    outcome.kind === 'LOST' && classOf(outcome.cause) !== 'cancel' && lostBefore < LOST_TRIALS_IN_ROW_MAX;
  return isRepeated && !ended.isStopping
    ? { ordinal: counted.lastOrdinal + 1, values, repeats: ordinal, lostBefore }
    : null;
}

/**
 * ASHA compares the trial with those that reached the rung before it, and stops it unless it is among the best. A trial
 * that has ended by now is one that later trials are compared with.
 */
export function onRungReached(
  tuning: Searching,
  { at, ordinal, step, value }: TuningEventOf<'RUNG_REACHED'>,
  timeouts: Timeouts,
): TuningTransition {
  const trial = tuning.running.find((one) => one.ordinal === ordinal);
  if (ordinal > tuning.lastOrdinal || trial?.isStopping === true) {
    return ignore(tuning);
  }
  const { rungs, isKept } = recordRung(tuning.rungs, { step, value });
  if (rungs === tuning.rungs) {
    return ignore(tuning);
  }
  const isStopped = !isKept && trial !== undefined;
  const stopped = isStopped ? [{ ...trial, isStopping: true, checkedAt: at }] : [];
  const running = tuning.running.map((one) => stopped.find((changed) => changed.ordinal === one.ordinal) ?? one);
  const effects = stopped.map((changed) => requestOf(tuning, changed));
  return advance({ ...tuning, rungs, running }, { from: tuning, at, timeouts, trials: [], effects });
}

export function onCancelRequested(
  tuning: Searching,
  { at }: TuningEventOf<'CANCEL_REQUESTED'>,
  timeouts: Timeouts,
): TuningTransition {
  return cancelTuning(tuning, { from: tuning, at, timeouts, ...NO_CHANGES });
}

/**
 * A suggestion request is among the dead letters. Copies of it may be too, since the reconciler republishes: the next
 * request asks for other ordinals, which makes those stale.
 */
export function onDeliveryExhausted(
  tuning: Searching,
  { at, messageType, from, problem }: TuningEventOf<'DELIVERY_EXHAUSTED'>,
  timeouts: Timeouts,
): TuningTransition {
  if (messageType !== 'SUGGEST' || tuning.asked === null || tuning.asked.from !== from) {
    return ignore(tuning);
  }
  const suggestFailuresInRow = tuning.suggestFailuresInRow + 1;
  const counted: Searching = { ...tuning, asked: null, suggestFailuresInRow };
  if (suggestFailuresInRow >= SUGGESTION_FAILURES_IN_ROW_MAX) {
    const message = `No values could be chosen for trial ${from} of tuning ${tuning.tuningId} (failure ${suggestFailuresInRow} in a row).`;
    const cause = causeOf('SUGGESTION_FAILED', message, [problem]);
    return failTuning(counted, cause, { from: tuning, at, timeouts, ...NO_CHANGES });
  }
  return advance(counted, { from: tuning, at, timeouts, ...NO_CHANGES });
}

/**
 * A suggestion was not answered in time, trials were not checked for long, or a condition may end the search. The check
 * of a trial is the request to start it, which also reports its end: at most TRIAL_CHECKS_MAX at once, the trials that
 * were not checked for longest first.
 */
export function onDeadlinePassed(
  tuning: Searching,
  { at }: TuningEventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): TuningTransition {
  const { asked } = tuning;
  const isLate = asked !== null && at >= asked.at + timeouts.suggestionAnswerMs;
  const due = tuning.running
    .filter(({ checkedAt }) => at >= checkedAt + timeouts.trialCheckMs)
    .sort((a, b) => a.checkedAt - b.checkedAt)
    .slice(0, TRIAL_CHECKS_MAX);
  const checked: Searching = {
    ...tuning,
    asked: isLate ? { ...asked, at } : asked,
    running: tuning.running.map((trial) => (due.includes(trial) ? { ...trial, checkedAt: at } : trial)),
  };
  const effects = [...(isLate ? suggestionOf(checked) : []), ...due.map((trial) => requestOf(tuning, trial))];
  return advance(checked, { from: tuning, at, timeouts, trials: [], effects });
}
