import { type Cause, causeOf } from '#shared/domain/cause.ts';
import type { Verdict } from '#shared/domain/job.ts';
import type { Moment } from '#shared/domain/rules/rule.ts';
import { noSuccessCause } from '#shared/tuning/rules/failure-limits.ts';
import { commonFields, move, type Searching } from '#shared/tuning/rules/rule.ts';
import type { StopReason, Tuning } from '#shared/tuning/tuning.ts';
import type { Changes, TuningEffect, TuningTransition } from '#shared/tuning/tuning-effect.ts';

/** Where a tuning comes from, and what changed with it. */
type Ending = Changes & Moment & { readonly from: Searching };

/** The verdict is final from here. Running trials are cancelled; the tuning is CLOSED once all of them have ended. */
function closeTuning(
  tuning: Searching,
  { verdict, stopReason }: { readonly verdict: Verdict; readonly stopReason: StopReason | null },
  { from, trials, effects, at, timeouts }: Ending,
): TuningTransition {
  const common = { ...commonFields(tuning), stopReason };
  const next: Tuning =
    tuning.running.length === 0
      ? { ...common, status: 'CLOSED', verdict, endedAt: at }
      : {
          ...common,
          running: tuning.running.map((trial) => ({ ...trial, checkedAt: at, isStopping: true })),
          status: 'CLOSING',
          verdict,
          wakeAt: at + timeouts.trialCancelMs,
        };
  return move(from, next, { trials, effects: [...effects, ...next.running.map((trial) => cancelOf(next, trial))] });
}

export function cancelOf({ tuningId }: Tuning, { ordinal }: { readonly ordinal: number }): TuningEffect {
  return { type: 'STOP_TRIAL', tuningId, ordinal, how: 'CANCEL' };
}

export function failTuning(tuning: Searching, cause: Cause, ending: Ending): TuningTransition {
  return closeTuning(tuning, { verdict: { state: 'FAILED', cause }, stopReason: 'FAILED' }, ending);
}

export function cancelTuning(tuning: Searching, ending: Ending): TuningTransition {
  const cause = causeOf('CANCELLED_BY_USER', `Tuning ${tuning.tuningId} was cancelled on request.`);
  return closeTuning(tuning, { verdict: { state: 'CANCELLED', cause }, stopReason: 'CANCELLED' }, ending);
}

/** All trials have ended. A tuning without a trial that succeeded has failed, whatever ended it. */
export function finishTuning(tuning: Searching, ending: Ending): TuningTransition {
  const hasSucceeded = tuning.counts.succeeded > 0;
  const verdict: Verdict = hasSucceeded
    ? { state: 'SUCCEEDED', cause: null }
    : { state: 'FAILED', cause: noSuccessCause(tuning) };
  return closeTuning(tuning, { verdict, stopReason: finalStopReasonOf(tuning) }, ending);
}

function finalStopReasonOf({ stopReason, isExhausted, suggestedCount, study }: Searching): StopReason | null {
  if (stopReason !== null || suggestedCount >= study.trialsMax) {
    return stopReason;
  }
  return isExhausted ? 'SPACE_EXHAUSTED' : 'TRIALS_MAX';
}
