import type { EarlyStopping, Study } from '#shared/domain/study.ts';
import type { Curve, MetricValue } from '#shared/tuning/trial.ts';

/** A study that minimizes `loss`. */
export function studyOf(earlyStopping: EarlyStopping | null, goal: 'MINIMIZE' | 'MAXIMIZE' = 'MINIMIZE'): Study {
  return {
    metrics: [{ id: 'loss', goal, safety: null }],
    algorithm: 'BAYESIAN',
    trialsMax: 20,
    parallelTrialsMax: 5,
    failedTrialsMax: null,
    earlyStopping,
    stoppingConditions: null,
    measurement: 'LAST',
    parameters: [{ id: 'rate', space: { kind: 'DOUBLE', min: 0, max: 1 }, scale: 'LINEAR', children: [] }],
    resumeJobId: null,
    maxCostUsd: null,
  };
}

export const MEDIAN: EarlyStopping = { rule: 'MEDIAN', usesElapsedTime: false };

/** The curve of a trial that has reported these losses at the steps 1, 2, 3 and so on, a second each. */
export function curveOf(losses: readonly MetricValue[], change: Partial<Curve> = {}): Curve {
  const points = losses.map((loss, index) => ({
    step: index + 1,
    elapsedMs: (index + 1) * 1_000,
    values: { loss },
  }));
  return { tuningId: 'digits', ordinal: 1, attempt: 1, points, ...change };
}
