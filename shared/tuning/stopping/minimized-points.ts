import { objectiveMetricOf, type Study } from '#shared/domain/study.ts';
import type { Curve } from '#shared/tuning/trial.ts';

/** One point of a curve as the rules of early stopping compare it. */
export type MinimizedPoint = {
  /** The step, or the running time in milliseconds if the study's rule uses elapsed time. */
  readonly at: number;
  /** The value that is minimized; not finite if the program reported a value that is not. */
  readonly value: number;
};

/** The objective of a curve by step, or by elapsed time if the study's rule uses it, in increasing order. */
export function minimizedPointsOf(curve: Curve, study: Study): readonly MinimizedPoint[] {
  const { id, goal } = objectiveMetricOf(study);
  const usesTime = usesElapsedTime(study);
  return curve.points
    .flatMap(({ step, elapsedMs, values }) => {
      const value = values[id];
      return value === undefined
        ? []
        : [{ at: usesTime ? elapsedMs : step, value: goal === 'MINIMIZE' ? Number(value) : -Number(value) }];
    })
    .sort((a, b) => a.at - b.at);
}

/** The lowest finite value; infinite if there is none, since a trial that reports only NaN is the worst of all. */
export function lowestOf(points: readonly MinimizedPoint[]): number {
  return Math.min(...points.map(({ value }) => value).filter(Number.isFinite));
}

export function usesElapsedTime({ earlyStopping }: Study): boolean {
  return earlyStopping !== null && 'usesElapsedTime' in earlyStopping && earlyStopping.usesElapsedTime;
}
