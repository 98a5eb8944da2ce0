import { describe, expect, it } from 'vitest';
import type { CauseCode } from '#shared/domain/cause.ts';
import type { StoppingConditions } from '#shared/domain/study.ts';
import { TIMEOUTS, TRIAL_CHECKS_MAX } from '#shared/domain/timeouts.ts';
import { stateOfTuning } from '#shared/tuning/tuning.ts';
import { valuesOfOrdinal } from '../../../support/domain/tuning-event-arbitrary.ts';
import { accept, failed, lost, missing, start, success, TuningRun } from '../../../support/domain/tuning-run.ts';

const HOUR_MS = 3_600_000;
const NO_CONDITIONS: StoppingConditions = {
  stopsRunningTrials: false,
  minimumRuntime: null,
  maximumRuntime: null,
  trialsMin: null,
  trialsMax: null,
  trialsWithoutProgressMax: null,
  withoutProgressMaxMs: null,
};

describe('a search', () => {
  it('starts the trials whose values were chosen, and asks for one more whenever one ends', () => {
    const run = start();
    expect(run.requests).toEqual(['START 1', 'START 2']);
    expect(run.last.trials.map(({ ordinal, jobId }) => [ordinal, jobId])).toEqual([
      [1, 'digits_trial_1'],
      [2, 'digits_trial_2'],
    ]);
    expect(run.closed(2, success(0.5), 2_000).requests).toEqual(['SUGGEST 3+1']);
  });

  it('asks for nothing while values are being chosen, and then for all free slots at once', () => {
    const run = start({ parallelTrialsMax: 3 }).closed(1, success(0.5), 2_000);
    expect(run.requests).toEqual(['SUGGEST 4+1']);
    const both = run.closed(2, success(0.5), 2_000).closed(3, success(0.5), 2_000);
    expect(both.requests).toEqual([]);
    expect(both.chosen(3_000).requests).toEqual(['START 4', 'SUGGEST 5+2']);
  });

  it('ignores values that were chosen twice or too late', () => {
    const run = start();
    expect(run.chosenFrom(1, 2_000, 2).tuning).toBe(run.tuning);
    const next = run.closed(1, success(0.5), 2_000);
    expect(next.chosenFrom(1, 3_000, 1).tuning).toBe(next.tuning);
    expect(next.chosenFrom(4, 3_000, 1).tuning).toBe(next.tuning);
  });

  it('counts the end of a trial once', () => {
    const run = start().closed(1, success(0.5), 2_000);
    expect(run.closed(1, success(0.9), 3_000).tuning).toBe(run.tuning);
  });

  it('succeeds with the best trial once all have ended', () => {
    const run = start({ trialsMax: 2 }).closed(1, success(0.5), 2_000).closed(2, success(0.25), 3_000);
    expect(run.tuning).toMatchObject({
      status: 'CLOSED',
      endedAt: 3_000,
      stopReason: null,
      verdict: { state: 'SUCCEEDED', cause: null },
      best: { ordinal: 1, objective: 0.5, at: 2_000, afterTrials: 1 },
      spentUsd: 1,
    });
    expect(run.last.effects).toEqual([{ type: 'JOB_UPDATE', jobId: 'digits', state: 'SUCCEEDED', attempt: 0 }]);
  });

  it('finds the lowest objective if it is minimized', () => {
    const run = start({ metrics: [{ id: 'loss', goal: 'MINIMIZE', safety: null }] });
    expect(run.closed(1, success(0.5), 2).closed(2, success(0.25), 3).tuning.best).toMatchObject({ ordinal: 2 });
  });

  it('keeps the earlier of two trials that are equally good', () => {
    expect(start().closed(1, success(0.5), 2).closed(2, success(0.5), 3).tuning.best).toMatchObject({ ordinal: 1 });
  });

  it('ends when there are no more values to try', () => {
    const run = start({ parallelTrialsMax: 2 }).closed(1, success(0.5), 2_000).chosen(3_000, 0);
    expect(run.tuning).toMatchObject({ status: 'SEARCHING', isExhausted: true });
    expect(run.closed(2, success(0.5), 4_000).tuning).toMatchObject({
      status: 'CLOSED',
      stopReason: 'SPACE_EXHAUSTED',
      verdict: { state: 'SUCCEEDED' },
    });
  });

  it('keeps the bar of the most trials, and the longest curve', () => {
    const bar = (completedCount: number) => ({ steps: [1], medians: [0.5], completedCount });
    const run = start().closed(1, success(0.5), { at: 2, bar: bar(6), completedStep: 27 });
    expect(run.closed(2, success(0.5), { at: 3, bar: bar(5), completedStep: 9 }).tuning).toMatchObject({
      bar: bar(6),
      longestStep: 27,
    });
  });
});

describe('a lost trial', () => {
  it('is repeated with the same values under the next ordinal, and not counted as suggested', () => {
    const run = start().closed(1, lost(), 2_000);
    expect(run.requests).toEqual(['START 3']);
    expect(run.last.trials[1]).toMatchObject({ ordinal: 3, values: valuesOfOrdinal(1), repeats: 1, outcome: null });
    expect(run.tuning).toMatchObject({ suggestedCount: 2, lastOrdinal: 3, counts: { lost: 1 } });
  });

  it('takes an ordinal beyond those that are asked for', () => {
    const run = start().closed(1, success(0.5), 2_000).closed(2, lost(), 3_000);
    expect(run.requests).toEqual(['START 4']);
    expect(run.chosen(4_000).requests).toEqual(['START 3']);
  });

  it('fails the tuning with its cause when it is the third in a row', () => {
    const run = start({ parallelTrialsMax: 1 }).closed(1, lost(), 2).closed(2, lost(), 3).closed(3, lost(), 4);
    expect(run.tuning).toMatchObject({
      status: 'CLOSED',
      stopReason: 'FAILED',
      verdict: { cause: { code: 'STOCKOUT' } },
    });
  });

  it('is not repeated a third time if other trials succeed meanwhile', () => {
    const run = start()
      .closed(1, lost(), 2)
      .closed(3, lost(), 3)
      .closed(2, success(1), 4)
      .chosen(5)
      .closed(4, lost(), 6);
    expect(run.tuning.status).toBe('SEARCHING');
    expect(run.requests).toEqual(['SUGGEST 6+1']);
  });

  it.each<CauseCode>(['CANCELLED_BY_USER', 'TRIAL_STOPPED'])('is not repeated if it was ended: %s', (code) => {
    const run = start().closed(1, lost(code), 2_000);
    expect(run.requests).toEqual(['SUGGEST 3+1']);
  });
});

describe('a condition to stop', () => {
  const stopping = (conditions: Partial<StoppingConditions>) => ({
    stoppingConditions: { ...NO_CONDITIONS, ...conditions },
  });

  it('lets running trials end, starts no other, and then succeeds', () => {
    const run = start(stopping({ maximumRuntime: { maxMs: HOUR_MS } })).closed(1, success(1), HOUR_MS);
    expect(run.requests).toEqual([]);
    expect(run.tuning).toMatchObject({ status: 'SEARCHING', stopReason: 'MAX_RUNTIME' });
    expect(run.closed(2, lost(), 2 * HOUR_MS).tuning).toMatchObject({
      status: 'CLOSED',
      stopReason: 'MAX_RUNTIME',
      verdict: { state: 'SUCCEEDED' },
    });
  });

  it('stops running trials if the study says so', () => {
    const run = start(stopping({ maximumRuntime: { endTime: '1970-01-01T01:00:00Z' }, stopsRunningTrials: true }));
    const stopped = run.deadline(HOUR_MS);
    expect(stopped.requests.filter((request) => request.startsWith('STOP'))).toEqual(['STOP 1', 'STOP 2']);
    expect(stopped.closed(1, success(0.5, true), HOUR_MS).tuning).toMatchObject({ counts: { stoppedEarly: 1 } });
  });

  it('is evaluated when its time has come', () => {
    expect(start(stopping({ maximumRuntime: { maxMs: 5_000 } })).tuning).toMatchObject({ wakeAt: 5_000 });
  });

  it('ends the search after trials without progress', () => {
    const run = start({ parallelTrialsMax: 1, ...stopping({ trialsWithoutProgressMax: 2 }) });
    const next = run.closed(1, success(1), 2).chosen(3).closed(2, success(0.5), 4).chosen(5).closed(3, missing, 6);
    expect(next.tuning).toMatchObject({ status: 'CLOSED', stopReason: 'NO_PROGRESS' });
  });

  it('ends the search after a time without progress', () => {
    const run = start(stopping({ withoutProgressMaxMs: 10_000 })).closed(1, success(1), 2_000);
    expect(run.tuning).toMatchObject({ status: 'SEARCHING', wakeAt: 12_000 });
    expect(run.deadline(12_000).tuning).toMatchObject({ stopReason: 'NO_PROGRESS', asked: null });
  });

  it('does not apply before both minimums are reached', () => {
    const conditions = { maximumRuntime: { maxMs: 1 }, minimumRuntime: { maxMs: 10_000 }, trialsMin: 1 };
    const run = start(stopping(conditions));
    expect(run.tuning.stopReason).toBeNull();
    expect(run.deadline(HOUR_MS).tuning.stopReason).toBeNull();
    expect(run.closed(1, success(1), 11_000).tuning.stopReason).toBe('MAX_RUNTIME');
  });

  it('does not apply before the shortest runtime is over', () => {
    const run = start(stopping({ maximumRuntime: { maxMs: 1 }, minimumRuntime: { maxMs: 10_000 } }));
    expect(run.closed(1, success(1), 9_000).tuning.stopReason).toBeNull();
    expect(run.closed(1, success(1), 10_000).tuning.stopReason).toBe('MAX_RUNTIME');
  });

  it('has its result: failures of trials that still run no longer fail the tuning', () => {
    const facts = { failedTrialsMax: 1, ...stopping({ maximumRuntime: { maxMs: 5_000 } }) };
    const run = start(facts).closed(1, success(1), 5_000).closed(2, failed('SECRET_UNAVAILABLE'), 6_000);
    expect(run.tuning).toMatchObject({ status: 'CLOSED', verdict: { state: 'SUCCEEDED' } });
  });

  it('limits the number of suggestions', () => {
    const run = start(stopping({ trialsMax: 2 })).closed(1, lost(), 2);
    expect(run.requests).toEqual(['START 3']);
    expect(run.closed(2, success(1), 3).closed(3, success(1), 4).tuning).toMatchObject({
      status: 'CLOSED',
      stopReason: 'TRIALS_MAX',
    });
  });
});

describe('a limit on cost', () => {
  it('stops the running trials when it is reached, and succeeds with what there is', () => {
    // Two trials at 0.50 US$ an hour reach 2 US$ after two hours.
    const run = start({ maxCostUsd: 2 }).deadline(1_000 + 2 * HOUR_MS);
    expect(run.requests.filter((request) => request.startsWith('STOP'))).toEqual(['STOP 1', 'STOP 2']);
    const next = run.closed(1, success(1, true), 9 * HOUR_MS).closed(2, lost('TRIAL_STOPPED'), 9 * HOUR_MS);
    expect(next.tuning).toMatchObject({ stopReason: 'MAX_COST', verdict: { state: 'SUCCEEDED' } });
  });

  it('is not exceeded by new trials', () => {
    const run = start({ maxCostUsd: 2 }).closed(1, success(1), { at: 2_000, costUsd: 2 });
    expect(run.requests).toEqual(['STOP 2']);
  });
});

describe('asynchronous successive halving', () => {
  it('stops a running trial that is not among the best of its rung', () => {
    const run = start({ parallelTrialsMax: 4 }).rung(1, 0.1).rung(2, 0.2).rung(3, 0.3);
    expect(run.requests).toEqual(['STOP 3']);
    expect(run.tuning.rungs).toEqual([{ step: 3, reachedCount: 3, best: [0.1, 0.2, 0.3] }]);
    expect(run.rung(3, 0.05).tuning).toBe(run.tuning);
    expect(run.rung(9, 0.05).tuning).toBe(run.tuning);
  });

  it('compares trials with those that have ended before their rung was reported', () => {
    const ended = start({ parallelTrialsMax: 2 }).closed(1, success(1), 2_000).closed(2, success(1), 2_000);
    const run = ended.rung(1, 0.1).rung(2, 0.2);
    expect(run.requests).toEqual([]);
    expect(run.tuning.rungs).toEqual([{ step: 3, reachedCount: 2, best: [0.1, 0.2] }]);
  });
});

describe('a deadline', () => {
  it('asks again for values that were not chosen in time, under the same ordinals', () => {
    const run = new TuningRun(accept());
    expect(run.deadline(1).tuning).toBe(run.tuning);
    const late = run.deadline(TIMEOUTS.suggestionAnswerMs);
    expect(late.requests).toEqual(['SUGGEST 1+2']);
    expect(late.tuning).toMatchObject({ wakeAt: 2 * TIMEOUTS.suggestionAnswerMs });
  });

  it('checks the trials that were not checked for longest', () => {
    const facts = { trialsMax: 50, parallelTrialsMax: 50 };
    const run = start(facts).deadline(1_000 + TIMEOUTS.trialCheckMs);
    expect(run.requests).toHaveLength(TRIAL_CHECKS_MAX);
    const next = run.deadline((run.tuning as { wakeAt: number }).wakeAt);
    expect(next.requests[0]).toBe(`START ${TRIAL_CHECKS_MAX + 1}`);
  });

  it('requests again that a trial stops', () => {
    const run = start({ parallelTrialsMax: 3 }).rung(1, 0.1).rung(2, 0.2).rung(3, 0.3);
    expect(run.deadline(HOUR_MS).requests).toEqual(['STOP 3', 'START 1', 'START 2']);
  });

  it('cancels again what runs in a closing tuning', () => {
    const run = start().cancelled(2_000);
    expect(run.deadline(2_000 + TIMEOUTS.trialCancelMs).requests).toEqual(['CANCEL 1', 'CANCEL 2']);
    const many = start({ trialsMax: 50, parallelTrialsMax: 50 }).cancelled(2_000);
    const next = many.deadline(2_000 + TIMEOUTS.trialCancelMs).deadline(2_000 + 2 * TIMEOUTS.trialCancelMs);
    expect(next.requests[0]).toBe(`CANCEL ${TRIAL_CHECKS_MAX + 1}`);
  });
});

describe('a tuning that is cancelled', () => {
  it('is CANCELLING until its trials have ended', () => {
    const run = start().cancelled(2_000);
    expect([run.requests, stateOfTuning(run.tuning)]).toEqual([['CANCEL 1', 'CANCEL 2'], 'CANCELLING']);
    const next = run.closed(1, success(0.5), 3_000).closed(2, lost('CANCELLED_BY_USER'), 4_000);
    expect(next.tuning).toMatchObject({
      status: 'CLOSED',
      stopReason: 'CANCELLED',
      verdict: { state: 'CANCELLED' },
      counts: { succeeded: 1, lost: 1 },
      best: { ordinal: 1 },
    });
  });

  it('is CANCELLED at once if nothing runs, and ignores the values that are chosen later', () => {
    const run = new TuningRun(accept()).cancelled(2_000);
    expect(run.tuning).toMatchObject({ status: 'CLOSED', verdict: { state: 'CANCELLED' } });
    expect(run.chosenFrom(1, 3_000, 2).tuning).toBe(run.tuning);
  });
});
