import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonBytesOf } from '#shared/domain/job-size.ts';
import { TIMEOUTS, TRIAL_CHECKS_MAX } from '#shared/domain/timeouts.ts';
import { RULES, transitionTuning } from '#shared/tuning/rules/transition.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import { stateOfTuning, type Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect, TuningTransition } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent, TuningEventOf } from '#shared/tuning/tuning-event.ts';
import { toEvent, tuningsWithEvents, valuesOfOrdinal } from '../../../support/domain/tuning-event-arbitrary.ts';

type Step = {
  readonly before: Tuning;
  readonly event: TuningEvent;
  readonly after: Tuning;
  /** Written with this event. */
  readonly written: readonly Trial[];
  readonly effects: readonly TuningEffect[];
  /** All trials before and after the event, as the store has them. */
  readonly earlier: ReadonlyMap<number, Trial>;
  readonly trials: ReadonlyMap<number, Trial>;
};

/** Checks an invariant after every event of many random sequences, and at their ends. */
function checkInvariant(check: (step: Step) => void, atEnd: (last: Stored) => void = () => undefined): void {
  fc.assert(
    fc.property(tuningsWithEvents, ({ tuning, drafts }) => {
      let stored: Stored = { tuning, trials: new Map(), now: 0 };
      for (const draft of drafts) {
        const event = deepFreeze(
          toEvent(stored.tuning, draft, { at: stored.now + draft.afterMs, trials: stored.trials }),
        );
        const { next, step } = apply(stored, event);
        check(step);
        stored = next;
      }
      atEnd(stored);
    }),
    { numRuns: 200 },
  );
}

type Stored = { readonly tuning: Tuning; readonly trials: ReadonlyMap<number, Trial>; readonly now: number };

function apply({ tuning, trials, now }: Stored, event: TuningEvent): { readonly next: Stored; readonly step: Step } {
  const { tuning: after, trials: written, effects }: TuningTransition = transitionTuning(deepFreeze(tuning), event);
  const all = new Map([...trials, ...written.map((trial) => [trial.ordinal, trial] as const)]);
  return {
    next: { tuning: after, trials: all, now: Math.max(now, event.at) },
    step: { before: tuning, event, after, written, effects, earlier: trials, trials: all },
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

const ended = (trials: ReadonlyMap<number, Trial>) => [...trials.values()].filter(({ outcome }) => outcome !== null);

function countOf(trials: ReadonlyMap<number, Trial>, kind: string): number {
  return ended(trials).filter(({ outcome }) => outcome?.kind === kind).length;
}

describe('for any events, in any order and number', () => {
  it('never more trials run or are asked for than may run in parallel', () => {
    checkInvariant(({ after }) => {
      const asked = after.status === 'SEARCHING' ? (after.asked?.count ?? 0) : 0;
      expect(after.running.length + asked).toBeLessThanOrEqual(after.study.parallelTrialsMax);
    });
  });

  it('never more trials are suggested than the study has', () => {
    checkInvariant(({ after, trials }) => {
      const suggested = [...trials.values()].filter(({ repeats }) => repeats === null).length;
      expect(after.suggestedCount).toBe(suggested);
      expect(suggested).toBeLessThanOrEqual(after.study.trialsMax);
    });
  });

  it('a trial runs from its creation until its outcome is known, and its outcome is counted once', () => {
    checkInvariant(({ written, earlier, after, trials }) => {
      for (const trial of written) {
        expect(earlier.get(trial.ordinal)?.outcome ?? null).toBeNull();
        expect(earlier.has(trial.ordinal)).toBe(trial.outcome !== null);
      }
      const open = [...trials.values()].filter(({ outcome }) => outcome === null).map(({ ordinal }) => ordinal);
      expect(after.running.map(({ ordinal }) => ordinal).sort()).toEqual(open.sort());
    });
  });

  it('counts, costs and the best trial are those of the outcomes', () => {
    checkInvariant(({ after, trials }) => {
      const { counts, best, spentUsd, study } = after;
      expect([counts.succeeded, counts.infeasible, counts.failed, counts.lost]).toEqual(
        ['SUCCEEDED', 'INFEASIBLE', 'FAILED', 'LOST'].map((kind) => countOf(trials, kind)),
      );
      const objectives = ended(trials).flatMap(({ outcome }) =>
        outcome?.kind === 'SUCCEEDED' ? outcome.objective : [],
      );
      const sorted = objectives.sort((a, b) => (study.metrics[0].goal === 'MAXIMIZE' ? b - a : a - b));
      expect(best?.objective).toBe(sorted[0]);
      expect(spentUsd).toBeCloseTo(ended(trials).reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0));
    });
  });

  it('a trial is started only after its values are written, and nothing starts after the search has ended', () => {
    checkInvariant(({ before, after, effects, written, trials }) => {
      for (const effect of effects) {
        if (effect.type === 'START_TRIAL' || effect.type === 'STOP_TRIAL') {
          expect(trials.get(effect.ordinal)).toMatchObject({ outcome: null });
        }
      }
      const created = written.filter(({ outcome }) => outcome === null);
      expect(created.length === 0 || (before.stopReason === null && after.status === 'SEARCHING')).toBe(true);
    });
  });

  it('one suggestion is asked for at a time, under an ordinal that no trial has', () => {
    checkInvariant(({ before, after, event, effects, trials }) => {
      const asked = after.status === 'SEARCHING' ? after.asked : null;
      const suggestions = effects.filter(({ type }) => type === 'SUGGEST');
      expect(suggestions.length).toBeLessThanOrEqual(asked === null ? 0 : 1);
      if (asked !== null) {
        expect(Math.max(0, ...trials.keys())).toSatisfy(
          (last: number) => last < asked.from || last >= asked.from + asked.count,
        );
        expect(after.lastOrdinal).toBeGreaterThanOrEqual(asked.from + asked.count - 1);
        const isRepeated = before.status === 'SEARCHING' && before.asked?.from === asked.from;
        expect(!isRepeated || suggestions.length === 0 || event.type === 'DEADLINE_PASSED').toBe(true);
      }
    });
  });

  it('a lost trial is repeated with the same values, at most twice', () => {
    checkInvariant(({ written, trials }) => {
      for (const { repeats, values } of written) {
        const origin = repeats === null ? undefined : trials.get(repeats);
        expect(repeats === null || origin?.outcome?.kind === 'LOST').toBe(true);
        expect(origin?.values ?? values).toEqual(values);
        expect(chainLengthOf(repeats, trials)).toBeLessThanOrEqual(2);
      }
    });
  });

  it('a tuning succeeds only with a trial that has succeeded', () => {
    checkInvariant(({ after }) => {
      const verdict = after.status === 'SEARCHING' ? null : after.verdict;
      expect(verdict?.state !== 'SUCCEEDED' || after.counts.succeeded > 0).toBe(true);
      expect(verdict === null || (verdict.cause === null) === (verdict.state === 'SUCCEEDED')).toBe(true);
    });
  });

  it('a closed tuning and a verdict do not change', () => {
    checkInvariant(({ before, after, effects, written }) => {
      if (before.status === 'CLOSED') {
        expect(after).toBe(before);
        expect([...effects, ...written]).toEqual([]);
      }
      if (before.status === 'CLOSING') {
        expect(after).toMatchObject({ status: expect.stringMatching(/^CLOS/), verdict: before.verdict });
      }
      expect(after.status !== 'CLOSED' || after.running.length === 0).toBe(true);
      expect(before.stopReason === null || after.stopReason !== null).toBe(true);
    });
  });

  it('every tuning that is not closed has a deadline, which moves forward when it is handled', () => {
    checkInvariant(({ before, event, after }) => {
      expect(after.status === 'CLOSED' || Number.isFinite(after.wakeAt)).toBe(true);
      if (event.type === 'DEADLINE_PASSED' && before.status !== 'CLOSED' && event.at >= before.wakeAt) {
        expect(after.status === 'CLOSED' || after.wakeAt > event.at).toBe(true);
        expect(after.status).not.toBe(before.status === 'CLOSING' ? 'SEARCHING' : '');
      }
    });
  });

  it('a deadline leads to a bounded number of messages', () => {
    checkInvariant(({ before, after, event, effects }) => {
      const isCheck = event.type === 'DEADLINE_PASSED' && before.stopReason === after.stopReason;
      const requests = effects.filter(({ type }) => type === 'START_TRIAL' || type === 'STOP_TRIAL');
      expect(isCheck ? requests.length : 0).toBeLessThanOrEqual(TRIAL_CHECKS_MAX);
    });
  });

  it('identity and specification never change', () => {
    checkInvariant(({ before, after }) => {
      for (const fact of [
        'tuningId',
        'spec',
        'study',
        'packages',
        'zones',
        'source',
        'warnings',
        'createdAt',
      ] as const) {
        expect(after[fact]).toBe(before[fact]);
      }
    });
  });

  it('every change that users see is published once, as the last effect', () => {
    checkInvariant(({ before, after, effects, written }) => {
      const isVisible =
        stateOfTuning(before) !== stateOfTuning(after) || written.some(({ outcome }) => outcome !== null);
      const update = { type: 'JOB_UPDATE', jobId: 'digits', state: stateOfTuning(after), attempt: 0 };
      expect(effects.filter(({ type }) => type === 'JOB_UPDATE')).toEqual(isVisible ? [update] : []);
      expect(isVisible ? effects.at(-1) : update).toEqual(update);
    });
  });

  it('an ignored event returns the same tuning object, no trials and no effects', () => {
    checkInvariant(({ before, after, effects, written }) => {
      if (JSON.stringify(before) === JSON.stringify(after)) {
        expect(after).toBe(before);
        expect([...effects, ...written]).toEqual([]);
      }
    });
  });

  it('the record stays small', () => {
    checkInvariant(({ after: { spec: _spec, study: _study, ...record } }) =>
      expect(jsonBytesOf(record)).toBeLessThan(16 << 10),
    );
  });

  it('every tuning closes once its messages are handled, some of them after they were lost', () => {
    const statuses = new Set<string>();
    checkInvariant(
      ({ after }) => {
        statuses.add(after.status);
      },
      (last) => expect(runToEnd(last).status).toBe('CLOSED'),
    );
    expect([...statuses].sort()).toEqual(Object.keys(RULES).sort());
  });
});

function chainLengthOf(repeats: number | null, trials: ReadonlyMap<number, Trial>): number {
  return repeats === null ? 0 : 1 + chainLengthOf(trials.get(repeats)?.repeats ?? null, trials);
}

const STEPS_MAX = 400;

/** Only the deadline is left of the events: what was sent before is lost, and what the deadline sends is handled. */
function runToEnd(last: Stored): Tuning {
  let stored = last;
  for (let count = 0; count < STEPS_MAX && stored.tuning.status !== 'CLOSED'; count += 1) {
    const at = Math.max(stored.now, stored.tuning.wakeAt) + TIMEOUTS.trialCheckMs;
    const base = { eventId: `deadline-${at}`, tuningId: stored.tuning.tuningId, at };
    const { next, step } = apply(stored, { ...base, type: 'DEADLINE_PASSED' });
    stored = step.effects.reduce((current, effect) => {
      const answer = answerTo(effect, current, base);
      return answer === null ? current : apply(current, answer).next;
    }, next);
  }
  return stored.tuning;
}

function answerTo(
  effect: TuningEffect,
  { tuning, trials }: Stored,
  base: Pick<TuningEvent, 'eventId' | 'tuningId' | 'at'>,
): TuningEvent | null {
  switch (effect.type) {
    case 'SUGGEST': {
      const { from, count } = effect;
      const values = Array.from({ length: count }, (_, index) => valuesOfOrdinal(from + index));
      return { ...base, type: 'VALUES_CHOSEN', from, values };
    }
    case 'START_TRIAL':
    case 'STOP_TRIAL': {
      const trial = trials.get(effect.ordinal);
      const draft = { type: 'TRIAL_CLOSED', pick: tuning.running.findIndex((one) => one.ordinal === effect.ordinal) };
      const outcome = {
        kind: 'SUCCEEDED',
        furtherObjectives: [],
        objective: 1,
        final: { step: 1, elapsedMs: 1, values: {} },
        isStoppedEarly: false,
      };
      const facts = { isCurrent: true, missingCount: 0, outcome, costUsd: 0, value: 0, step: 3, afterMs: 0 };
      const event = toEvent(tuning, { ...draft, ...facts } as never, { at: base.at, trials });
      return trial === undefined ? null : (event as TuningEventOf<'TRIAL_CLOSED'>);
    }
    default:
      return null;
  }
}
