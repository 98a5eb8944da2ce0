import { type Timeouts, TRIAL_CHECKS_MAX } from '#shared/domain/timeouts.ts';
import { cancelOf } from '#shared/tuning/rules/close.ts';
import { countTrial } from '#shared/tuning/rules/count-trial.ts';
import { type Closing, commonFields, ignore, move } from '#shared/tuning/rules/rule.ts';
import type { TuningTransition } from '#shared/tuning/tuning-effect.ts';
import type { TuningEventOf } from '#shared/tuning/tuning-event.ts';

/** The verdict stays; the outcomes of the last trials are recorded as any other. */
export function onTrialClosed(tuning: Closing, event: TuningEventOf<'TRIAL_CLOSED'>): TuningTransition {
  const ending = countTrial(tuning, event);
  if (ending === undefined) {
    return ignore(tuning);
  }
  const { counted, trial } = ending;
  const isLast = counted.running.length === 0;
  const { verdict } = tuning;
  return move(tuning, isLast ? { ...commonFields(counted), status: 'CLOSED', verdict, endedAt: event.at } : counted, {
    trials: [trial],
    effects: [],
  });
}

/** Cancel requests can be lost: they are repeated for as long as a trial runs, for some of them at a time. */
export function onDeadlinePassed(
  tuning: Closing,
  { at }: TuningEventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): TuningTransition {
  const due = tuning.running.toSorted((a, b) => a.checkedAt - b.checkedAt).slice(0, TRIAL_CHECKS_MAX);
  const running = tuning.running.map((trial) => (due.includes(trial) ? { ...trial, checkedAt: at } : trial));
  const next: Closing = { ...tuning, running, wakeAt: at + timeouts.trialCancelMs };
  return move(tuning, next, { trials: [], effects: due.map((trial) => cancelOf(tuning, trial)) });
}
