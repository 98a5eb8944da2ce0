import fc from 'fast-check';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { newTuning } from '#shared/tuning/new-tuning.ts';
import type { Trial, TrialOutcome, Values } from '#shared/tuning/trial.ts';
import type { Tuning, TuningIn } from '#shared/tuning/tuning.ts';
import type { TuningEvent, TuningEventType } from '#shared/tuning/tuning-event.ts';
import { queuedJob } from './example-job.ts';
import { STUDY } from './example-tuning.ts';

/** How often each event is drawn: most trials end in some way. */
const WEIGHTS: Readonly<Record<TuningEventType, number>> = {
  VALUES_CHOSEN: 8,
  TRIAL_CLOSED: 12,
  DEADLINE_PASSED: 5,
  RUNG_REACHED: 3,
  DELIVERY_EXHAUSTED: 1,
  CANCEL_REQUESTED: 1,
};

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 2 });

const studies: fc.Arbitrary<Study> = fc
  .record({
    goal: fc.constantFrom('MAXIMIZE' as const, 'MINIMIZE' as const),
    trialsMax: fc.integer({ min: 1, max: 12 }),
    parallelTrialsMax: fc.integer({ min: 1, max: 5 }),
    failedTrialsMax: optional(fc.integer({ min: 1, max: 8 })),
    maxCostUsd: optional(fc.double({ min: 0.01, max: 20, noNaN: true })),
    stoppingConditions: optional(
      fc.record({
        stopsRunningTrials: fc.boolean(),
        minimumRuntime: optional(fc.record({ maxMs: fc.integer({ min: 0, max: 10_000_000 }) })),
        maximumRuntime: optional(fc.record({ maxMs: fc.integer({ min: 1, max: 20_000_000 }) })),
        trialsMin: optional(fc.integer({ min: 1, max: 6 })),
        trialsMax: optional(fc.integer({ min: 1, max: 10 })),
        trialsWithoutProgressMax: optional(fc.integer({ min: 1, max: 6 })),
        withoutProgressMaxMs: optional(fc.integer({ min: 1, max: 10_000_000 })),
      }),
    ),
  })
  .map(({ goal, parallelTrialsMax, ...facts }) => ({
    ...STUDY,
    ...facts,
    parallelTrialsMax: Math.min(parallelTrialsMax, facts.trialsMax),
    metrics: [{ id: 'accuracy', goal, safety: null }],
  }));

const CODES: readonly CauseCode[] = ['PROGRAM_FAILED', 'OUT_OF_MEMORY'];
const LOST_CODES: readonly CauseCode[] = ['STOCKOUT', 'INTERNAL_ERROR', 'CANCELLED_BY_USER', 'TRIAL_STOPPED'];
const failures = (codes: readonly CauseCode[]) =>
  fc.constantFrom(...codes).map((code) => causeOf(code, `It was ${code}.`, ['a line']));

const objectives = fc.double({ min: -5, max: 5, noNaN: true });

export const trialOutcomes: fc.Arbitrary<TrialOutcome> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ objective: objectives, isStoppedEarly: fc.boolean() }).map((facts) => ({
      kind: 'SUCCEEDED' as const,
      furtherObjectives: [],
      final: { step: 9, elapsedMs: 60_000, values: { accuracy: facts.objective } },
      ...facts,
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('METRIC_MISSING' as const, 'NOT_FINITE' as const, 'UNSAFE' as const).map((reason) => ({
      kind: 'INFEASIBLE' as const,
      reason,
      message: `It was ${reason}.`,
    })),
  },
  { weight: 2, arbitrary: failures(CODES).map((cause) => ({ kind: 'FAILED' as const, cause })) },
  { weight: 3, arbitrary: failures(LOST_CODES).map((cause) => ({ kind: 'LOST' as const, cause })) },
);

const types: fc.Arbitrary<TuningEventType> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([type, weight]) => ({ weight, arbitrary: fc.constant(type as TuningEventType) })),
);

/** The values that one event needs, whatever its type. */
const drafts = fc.record({
  type: types,
  afterMs: fc.integer({ min: 0, max: 1_500_000 }),
  /** Which running trial; beyond them, one that has ended or never existed. */
  pick: fc.integer({ min: 0, max: 8 }),
  isCurrent: fc.boolean(),
  missingCount: fc.oneof(
    { weight: 9, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ max: 3, min: 1 }) },
  ),
  outcome: trialOutcomes,
  costUsd: fc.option(fc.double({ min: 0, max: 3, noNaN: true })),
  value: objectives,
  step: fc.constantFrom(3, 9),
});

export type EventDraft = typeof drafts extends fc.Arbitrary<infer D> ? D : never;

export function acceptTuning(study: Study): TuningIn<'SEARCHING'> {
  const { spec, packages, zones, source, warnings } = queuedJob();
  const accepted = { spec, study, packages, zones, source, warnings, resumes: [], perHourUsd: 0.5 };
  return newTuning({ ...accepted, now: 0, timeouts: TIMEOUTS }).tuning;
}

/** A tuning that was just accepted, and drafts of what happens to it. */
export const tuningsWithEvents = fc.record({
  tuning: studies.map(acceptTuning),
  drafts: fc.array(drafts, { maxLength: 60, size: 'max' }),
});

export function valuesOfOrdinal(ordinal: number): Values {
  return { rate: ordinal / 100 };
}

/** The draft as an event about the tuning as it is now, or about something it no longer waits for. */
export function toEvent(
  tuning: Tuning,
  draft: EventDraft,
  { at, trials }: { at: number; trials: ReadonlyMap<number, Trial> },
): TuningEvent {
  const { type, pick, isCurrent, missingCount, outcome, costUsd, step, value } = draft;
  const asked = tuning.status === 'SEARCHING' ? tuning.asked : null;
  const from = isCurrent ? (asked?.from ?? 1) : pick;
  const ordinal = tuning.running[pick]?.ordinal ?? pick;
  const base = { eventId: `${type}-${at}-${pick}`, tuningId: tuning.tuningId, at };
  const count = Math.max(0, (asked?.count ?? 1) - missingCount);
  const trial = trials.get(ordinal);
  const closed = {
    ordinal,
    values: trial?.values ?? valuesOfOrdinal(ordinal),
    chosenAt: trial?.chosenAt ?? 0,
    repeats: trial?.repeats ?? null,
    outcome,
    startedAt: null,
    endedAt: at,
    costUsd,
    bar: null,
    completedStep: step,
  };
  const events: { readonly [E in TuningEventType]: Extract<TuningEvent, { type: E }> } = {
    VALUES_CHOSEN: {
      ...base,
      type: 'VALUES_CHOSEN',
      from,
      values: Array.from({ length: count }, (_, index) => valuesOfOrdinal(from + index)),
    },
    TRIAL_CLOSED: { ...base, type: 'TRIAL_CLOSED', ...closed },
    RUNG_REACHED: { ...base, type: 'RUNG_REACHED', ordinal, step, value },
    CANCEL_REQUESTED: { ...base, type: 'CANCEL_REQUESTED' },
    DEADLINE_PASSED: {
      ...base,
      type: 'DEADLINE_PASSED',
      at: isCurrent && tuning.status !== 'CLOSED' ? Math.max(at, tuning.wakeAt) : at,
    },
    DELIVERY_EXHAUSTED: {
      ...base,
      type: 'DELIVERY_EXHAUSTED',
      messageType: isCurrent ? 'SUGGEST' : 'START_TRIAL',
      ordinal: isCurrent ? null : ordinal,
      from: isCurrent ? from : null,
      problem: 'It threw.',
    },
  };
  return events[type];
}
