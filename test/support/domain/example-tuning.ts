import { causeOf } from '#shared/domain/cause.ts';
import type { Study } from '#shared/domain/study.ts';
import { type Curve, type Trial, trialJobIdOf } from '#shared/tuning/trial.ts';
import type { TuningIn } from '#shared/tuning/tuning.ts';
import { queuedJob } from './example-job.ts';

/** A study of learning rates. */
export const STUDY: Study = {
  metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }],
  algorithm: 'BAYESIAN',
  trialsMax: 10,
  parallelTrialsMax: 2,
  failedTrialsMax: null,
  earlyStopping: null,
  stoppingConditions: null,
  measurement: 'LAST',
  parameters: [{ id: 'rate', space: { kind: 'DOUBLE', min: 0.001, max: 1 }, scale: 'LOG', children: [] }],
  resumeJobId: null,
  maxCostUsd: null,
};

/** A tuning that was accepted at time 0 and waits for its first values. */
export function searchingTuning(facts: Partial<TuningIn<'SEARCHING'>> = {}): TuningIn<'SEARCHING'> {
  const { spec, packages, zones, source, warnings } = queuedJob();
  const tuningId = facts.tuningId ?? 'digits';
  return {
    status: 'SEARCHING',
    asked: { from: 1, count: 2, at: 0 },
    isExhausted: false,
    suggestFailuresInRow: 0,
    wakeAt: 300_000,
    tuningId,
    spec: { ...spec, jobId: tuningId },
    study: STUDY,
    packages,
    zones,
    source,
    warnings,
    createdAt: 0,
    resumes: [],
    suggestedCount: 0,
    lastOrdinal: 2,
    running: [],
    counts: { succeeded: 0, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0 },
    lostInRow: 0,
    failures: [],
    best: null,
    front: [],
    bar: null,
    rungs: [],
    longestStep: null,
    perHourUsd: 0.19,
    spentUsd: 0,
    firstTrialAt: null,
    stopReason: null,
    history: [],
    ...facts,
  };
}

/** The same tuning, cancelled and closed. */
export function closedTuning(): TuningIn<'CLOSED'> {
  const { status: _, asked, isExhausted, suggestFailuresInRow, wakeAt, ...common } = searchingTuning();
  const verdict = { state: 'CANCELLED', cause: causeOf('CANCELLED_BY_USER', 'Cancelled.') } as const;
  return { ...common, status: 'CLOSED', stopReason: 'CANCELLED', verdict, endedAt: 2_000 };
}

/** A trial whose job runs. */
export function runningTrial(ordinal: number, facts: Partial<Trial> = {}): Trial {
  const tuningId = facts.tuningId ?? 'digits';
  return {
    tuningId,
    ordinal,
    jobId: trialJobIdOf(tuningId, ordinal),
    values: { rate: 0.01 * ordinal },
    chosenAt: 1_000,
    repeats: null,
    startedAt: null,
    endedAt: null,
    costUsd: null,
    outcome: null,
    ...facts,
  };
}

/** A trial that succeeded with this objective. */
export function succeededTrial(ordinal: number, objective: number, facts: Partial<Trial> = {}): Trial {
  return runningTrial(ordinal, {
    startedAt: 2_000,
    endedAt: 62_000,
    costUsd: 0.01,
    outcome: {
      kind: 'SUCCEEDED',
      furtherObjectives: [],
      objective,
      final: { step: 9, elapsedMs: 60_000, values: { accuracy: objective } },
      isStoppedEarly: false,
    },
    ...facts,
  });
}

/** The values that a trial has reported of its accuracy, one value a step. */
export function exampleCurve(ordinal: number, accuracies: readonly number[], facts: Partial<Curve> = {}): Curve {
  return {
    tuningId: 'digits',
    ordinal,
    attempt: 1,
    points: accuracies.map((accuracy, step) => ({ step, elapsedMs: 1_000 * (step + 1), values: { accuracy } })),
    ...facts,
  };
}
