import { listObjectives, optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';

/** A trial in the plane of two objectives. */
export type FrontPoint = {
  readonly trial: TrialView;
  readonly x: number;
  readonly y: number;
  /** Whether no other trial dominates it, in all objectives. */
  readonly isOptimal: boolean;
};

/** The metrics of the two axes. */
export type FrontAxes = { readonly x: string; readonly y: string };

/** The first objective upwards, the second to the right; null with one objective. */
export function defaultAxes(tuning: TuningView): FrontAxes | null {
  const [first, second] = listObjectives(tuning);
  return first === undefined || second === undefined ? null : { x: second.metricId, y: first.metricId };
}

/** The trials that have succeeded with a value of both metrics, from left to right. */
export function frontPoints(trials: readonly TrialView[], tuning: TuningView, axes: FrontAxes): readonly FrontPoint[] {
  const optimal = new Set(optimalTrialsOf(trials, tuning));
  return trials
    .flatMap((trial) => {
      const [x, y] = [trial.objectives[axes.x] ?? null, trial.objectives[axes.y] ?? null];
      return trial.state !== 'SUCCEEDED' || x === null || y === null
        ? []
        : [{ trial, x, y, isOptimal: optimal.has(trial) }];
    })
    .sort((a, b) => a.x - b.x || a.y - b.y);
}
