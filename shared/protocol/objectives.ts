import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { costsOf, paretoFrontOf } from '#shared/tuning/pareto.ts';

type Objective = TuningView['objectives'][number];
type Goals = Pick<TuningView, 'metricId' | 'goal' | 'objectives'>;

/** The objectives of the tuning: one metric or several. */
export function listObjectives({ metricId, goal, objectives }: Goals): readonly Objective[] {
  return objectives.length === 0 ? [{ metricId, goal }] : objectives;
}

/** The value of each objective; null if the trial has none. */
export function objectiveValues({ objective, objectives }: TrialView, tuning: Goals): readonly (number | null)[] {
  return tuning.objectives.length === 0
    ? [objective]
    : tuning.objectives.map(({ metricId }) => objectives[metricId] ?? null);
}

/** With several objectives, the trials that no other one dominates, best first by the first objective; otherwise none. */
export function optimalTrialsOf(trials: readonly TrialView[], tuning: Goals): readonly TrialView[] {
  const goals = tuning.objectives.map(({ goal }) => goal);
  const complete = trials.flatMap((trial) => {
    const values = objectiveValues(trial, tuning).filter((value) => value !== null);
    return trial.state === 'SUCCEEDED' && values.length === goals.length
      ? [{ trial, costs: costsOf(values, goals) }]
      : [];
  });
  return paretoFrontOf(complete)
    .toSorted((a, b) => (a.costs[0] ?? 0) - (b.costs[0] ?? 0))
    .map(({ trial }) => trial);
}
