import type { TimestampMs } from '#shared/domain/job.ts';
import type { Moment } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { finishTuning } from '#shared/tuning/rules/close.ts';
import { move, type Searching } from '#shared/tuning/rules/rule.ts';
import { stopCheckTimes, stopReasonOf, trialsLeft } from '#shared/tuning/rules/stop-conditions.ts';
import { type Trial, trialJobIdOf, type Values } from '#shared/tuning/trial.ts';
import type { RunningTrial, StopReason } from '#shared/tuning/tuning.ts';
import type { Changes, TuningEffect, TuningTransition } from '#shared/tuning/tuning-effect.ts';

/** A trial that starts unless the tuning ends: with values that were suggested, or with those of a lost trial. */
export type NewTrial = {
  readonly ordinal: number;
  readonly values: Values;
  readonly repeats: number | null;
  readonly lostBefore: number;
};

type Step = Changes & Moment & { readonly from: Searching; readonly starts?: readonly NewTrial[] };

/**
 * The consequences of every event: the end of the search if a condition for that applies, otherwise new trials in the
 * free slots. `starts` are trials whose values are known.
 */
export function advance(tuning: Searching, { from, at, timeouts, starts = [], ...changes }: Step): TuningTransition {
  const reason = tuning.stopReason ?? stopReasonOf(tuning, at);
  const step =
    reason === null ? startAndAsk(tuning, starts, { at, changes }) : endSearch(tuning, reason, { at, changes });
  const { next, trials, effects } = step;
  if (next.running.length === 0 && next.asked === null) {
    return finishTuning(next, { from, trials, effects, at, timeouts });
  }
  return move(from, { ...next, wakeAt: nextWakeAt(next, at, timeouts) }, { trials, effects });
}

type Context = { readonly at: TimestampMs; readonly changes: Changes };

type Advanced = Changes & { readonly next: Searching };

/** No trial starts any more, and a suggestion that is under way is ignored. Trials that run may be asked to stop. */
function endSearch(tuning: Searching, stopReason: StopReason, { at, changes }: Context): Advanced {
  const isNew = tuning.stopReason === null;
  const stopsTrials = stopReason === 'MAX_COST' || tuning.study.stoppingConditions?.stopsRunningTrials === true;
  const stopped = isNew && stopsTrials ? tuning.running.filter(({ isStopping }) => !isStopping) : [];
  const running = tuning.running.map((trial) =>
    stopped.includes(trial) ? { ...trial, isStopping: true, checkedAt: at } : trial,
  );
  return {
    next: { ...tuning, stopReason, asked: null, running },
    trials: changes.trials,
    effects: [
      ...changes.effects.filter(({ type }) => type !== 'SUGGEST'),
      ...stopped.map((trial) => requestOf(tuning, { ...trial, isStopping: true })),
    ],
  };
}

function startAndAsk(tuning: Searching, starts: readonly NewTrial[], { at, changes }: Context): Advanced {
  const { tuningId } = tuning;
  const trials = starts.map(({ ordinal, values, repeats }): Trial => {
    const jobId = trialJobIdOf(tuningId, ordinal);
    const open = { startedAt: null, endedAt: null, costUsd: null, outcome: null };
    return { tuningId, ordinal, jobId, values, chosenAt: at, repeats, ...open };
  });
  const running = starts.map(
    ({ ordinal, lostBefore }): RunningTrial => ({
      ordinal,
      jobId: trialJobIdOf(tuningId, ordinal),
      since: at,
      checkedAt: at,
      isStopping: false,
      lostBefore,
    }),
  );
  const started: Searching = {
    ...tuning,
    running: [...tuning.running, ...running],
    suggestedCount: tuning.suggestedCount + starts.filter(({ repeats }) => repeats === null).length,
    firstTrialAt: tuning.firstTrialAt ?? (running.length > 0 ? at : null),
  };
  const next = askForValues(started, at);
  const starting = running.map((trial) => requestOf(tuning, trial));
  const asking = next === started ? [] : suggestionOf(next);
  return {
    next,
    trials: [...changes.trials, ...trials],
    effects: [...changes.effects, ...starting, ...asking],
  };
}

/**
 * Asks for the values of all free slots. One request at a time: two would not know of each other's values, and choose
 * nearly the same.
 */
function askForValues(tuning: Searching, at: TimestampMs): Searching {
  const { asked, isExhausted, running, study, lastOrdinal } = tuning;
  const count = Math.min(study.parallelTrialsMax - running.length, trialsLeft(tuning, at));
  if (asked !== null || isExhausted || count <= 0) {
    return tuning;
  }
  return { ...tuning, asked: { from: lastOrdinal + 1, count, at }, lastOrdinal: lastOrdinal + count };
}

export function suggestionOf({ tuningId, asked }: Searching): readonly TuningEffect[] {
  return asked === null ? [] : [{ type: 'SUGGEST', tuningId, from: asked.from, count: asked.count }];
}

/** The request to a running trial's job: to start, or to stop. */
export function requestOf(
  { tuningId }: Searching,
  { ordinal, isStopping }: Pick<RunningTrial, 'ordinal' | 'isStopping'>,
): TuningEffect {
  return isStopping
    ? { type: 'STOP_TRIAL', tuningId, ordinal, how: 'STOP' }
    : { type: 'START_TRIAL', tuningId, ordinal };
}

/** When the answer to the suggestion request is late, a trial is to be checked, or a condition can end the search. */
function nextWakeAt(tuning: Searching, at: TimestampMs, timeouts: Timeouts): TimestampMs {
  const { asked, running } = tuning;
  const times = [
    ...(asked === null ? [] : [asked.at + timeouts.suggestionAnswerMs]),
    ...running.map(({ checkedAt }) => checkedAt + timeouts.trialCheckMs),
    ...stopCheckTimes(tuning, at),
  ];
  return Math.max(at + 1, Math.min(...times));
}
