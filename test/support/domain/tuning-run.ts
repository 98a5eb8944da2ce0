import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { Study } from '#shared/domain/study.ts';
import { transitionTuning } from '#shared/tuning/rules/transition.ts';
import type { TrialOutcome } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect, TuningTransition } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent, TuningEventOf } from '#shared/tuning/tuning-event.ts';
import { STUDY } from './example-tuning.ts';
import { acceptTuning, valuesOfOrdinal } from './tuning-event-arbitrary.ts';

/** A tuning of six trials, two at a time, that was just accepted. */
export function accept(facts: Partial<Study> = {}): Tuning {
  return acceptTuning({ ...STUDY, trialsMax: 6, parallelTrialsMax: 2, ...facts });
}

type ClosedFacts = Partial<TuningEventOf<'TRIAL_CLOSED'>> & { readonly at: number };

/** The tuning after these events, and the effects of the last one. */
export class TuningRun {
  readonly tuning: Tuning;
  readonly last: TuningTransition;

  constructor(tuning: Tuning, last: TuningTransition = { tuning, trials: [], effects: [] }) {
    this.tuning = tuning;
    this.last = last;
  }

  private apply(event: TuningEvent): TuningRun {
    const last = transitionTuning(this.tuning, event);
    return new TuningRun(last.tuning, last);
  }

  /** All values that were asked for, or the first `count` of them. */
  chosen(at: number, count = Number.POSITIVE_INFINITY): TuningRun {
    const asked = this.tuning.status === 'SEARCHING' ? this.tuning.asked : null;
    return this.chosenFrom(asked?.from ?? 0, at, Math.min(count, asked?.count ?? 0));
  }

  chosenFrom(from: number, at: number, count: number): TuningRun {
    const values = Array.from({ length: count }, (_, index) => valuesOfOrdinal(from + index));
    return this.apply({ ...base(at), type: 'VALUES_CHOSEN', from, values });
  }

  closed(ordinal: number, outcome: TrialOutcome, end: number | ClosedFacts): TuningRun {
    const facts = typeof end === 'number' ? { at: end } : end;
    const trial = { ordinal, values: valuesOfOrdinal(ordinal), chosenAt: 0, repeats: null };
    const times = { startedAt: 0, endedAt: facts.at, costUsd: 0.5 };
    const nothing = { bar: null, completedStep: null };
    return this.apply({ ...base(facts.at), type: 'TRIAL_CLOSED', ...trial, ...times, ...nothing, outcome, ...facts });
  }

  rung(ordinal: number, value: number): TuningRun {
    return this.apply({ ...base(1), type: 'RUNG_REACHED', ordinal, step: 3, value });
  }

  cancelled(at: number): TuningRun {
    return this.apply({ ...base(at), type: 'CANCEL_REQUESTED' });
  }

  deadline(at: number): TuningRun {
    return this.apply({ ...base(at), type: 'DEADLINE_PASSED' });
  }

  exhausted(from: number): TuningRun {
    const facts = { messageType: 'SUGGEST', ordinal: null, from, problem: 'It threw.' };
    return this.apply({ ...base(1), type: 'DELIVERY_EXHAUSTED', ...facts });
  }

  /** Effects other than updates, in short. */
  get requests(): readonly string[] {
    return this.last.effects.filter(({ type }) => type !== 'JOB_UPDATE').map(inShort);
  }
}

const base = (at: number) => ({ eventId: `event-${at}`, tuningId: 'digits', at });

function inShort(effect: TuningEffect): string {
  switch (effect.type) {
    case 'SUGGEST':
      return `SUGGEST ${effect.from}+${effect.count}`;
    case 'STOP_TRIAL':
      return `${effect.how} ${effect.ordinal}`;
    case 'START_TRIAL':
      return `START ${effect.ordinal}`;
    default:
      return effect.state;
  }
}

export function success(objective: number, isStoppedEarly = false): TrialOutcome {
  const final = { step: 1, elapsedMs: 1, values: { accuracy: objective } };
  return { kind: 'SUCCEEDED', objective, furtherObjectives: [], final, isStoppedEarly };
}

export const failed = (code: CauseCode = 'PROGRAM_FAILED'): TrialOutcome => ({
  kind: 'FAILED',
  cause: causeOf(code, 'It failed.'),
});

export const lost = (code: CauseCode = 'STOCKOUT'): TrialOutcome => ({
  kind: 'LOST',
  cause: causeOf(code, 'It was lost.'),
});
export const missing: TrialOutcome = { kind: 'INFEASIBLE', reason: 'METRIC_MISSING', message: 'It reported "acc".' };

export const start = (facts: Partial<Study> = {}) => new TuningRun(accept(facts)).chosen(1_000);
