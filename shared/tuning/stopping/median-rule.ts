import type { Study } from '#shared/domain/study.ts';
import {
  lowestOf,
  type MinimizedPoint,
  minimizedPointsOf,
  usesElapsedTime,
} from '#shared/tuning/stopping/minimized-points.ts';
import { CURVE_POINTS_MAX, type Curve } from '#shared/tuning/trial.ts';
import type { MedianBar } from '#shared/tuning/tuning.ts';

/** Fewer completed trials decide nothing. */
export const COMPLETED_TRIALS_MIN = 5;

/** A trial is compared from this share of the longest completed curve on: early values say little about the last. */
const LENGTH_FRACTION_MIN = 0.1;

/** DECAY_CURVE, CONVEX and AUTOMATIC use the median rule, too. */
export function usesMedianRule({ earlyStopping }: Study): boolean {
  return earlyStopping !== null && earlyStopping.rule !== 'ASHA';
}

/**
 * The bar of Vizier's median stopping rule (Golovin et al., "Google Vizier: A Service for Black-Box Optimization", KDD
 * 2017, section 3.2.2): at each step, the median of the running means of the completed trials that reached it. `curves`
 * are those of completed trials; a trial that was stopped early has not completed. Null if fewer than
 * COMPLETED_TRIALS_MIN have reported the objective.
 */
export function medianBarOf(curves: readonly Curve[], study: Study): MedianBar | null {
  const means = curves
    .map((curve) => runningMeansOf(minimizedPointsOf(curve, study).filter(({ value }) => Number.isFinite(value))))
    .filter((points) => points.length > 0);
  const bar = stepsOf(means).flatMap((at) => {
    const reached = means.flatMap((points) => meanAt(points, at) ?? []);
    return reached.length < COMPLETED_TRIALS_MIN ? [] : [{ at, value: medianOf(reached) }];
  });
  return bar.length === 0
    ? null
    : { steps: bar.map(({ at }) => at), medians: bar.map(({ value }) => value), completedCount: means.length };
}

/**
 * Whether a running trial's best value so far is worse than the bar at its last point, so that it is stopped. Not at
 * the length of the longest completed curve and beyond: nothing would be saved. `longestStep` is the last step of the
 * longest completed curve, null before the first.
 */
export function isBehindBar(
  curve: Curve,
  bar: MedianBar,
  { study, longestStep }: { readonly study: Study; readonly longestStep: number | null },
): boolean {
  const points = minimizedPointsOf(curve, study);
  const last = points.at(-1);
  const lastOfBar = bar.steps.at(-1);
  if (last === undefined || lastOfBar === undefined || !isLongEnough(curve, study)) {
    return false;
  }
  const longest = Math.max(lastOfBar, usesElapsedTime(study) ? 0 : (longestStep ?? 0));
  const index = bar.steps.findLastIndex((step) => step <= last.at);
  const median = bar.medians[index];
  const isComparable = last.at >= LENGTH_FRACTION_MIN * longest && last.at < longest && last.at <= lastOfBar;
  return isComparable && median !== undefined && lowestOf(points) > median;
}

/** CONVEX has limits of its own; a curve that was thinned out has at least half of its points. */
function isLongEnough({ points }: Curve, { earlyStopping }: Study): boolean {
  if (earlyStopping?.rule !== 'CONVEX') {
    return true;
  }
  const { stepsMin, measurementsMin, usesElapsedTime } = earlyStopping;
  const last = points.at(-1);
  const length = usesElapsedTime ? (last?.elapsedMs ?? 0) / 1_000 : (last?.step ?? 0);
  return length >= (stepsMin ?? 0) && points.length >= Math.min(measurementsMin ?? 0, CURVE_POINTS_MAX / 2);
}

/**
 * The mean of all values up to each point. Points count by their distance to the one before, because a long curve is
 * thinned out, and more so in its older part; at even distances, this is the plain mean.
 */
function runningMeansOf(points: readonly MinimizedPoint[]): readonly MinimizedPoint[] {
  const firstWeight = (points[1]?.at ?? 1) - (points[0]?.at ?? 0);
  let [sum, weights] = [0, 0];
  return points.map(({ at, value }, index) => {
    const before = points[index - 1];
    const weight = Math.max(Number.MIN_VALUE, before === undefined ? firstWeight : at - before.at);
    weights += weight;
    // In halves: the difference of two finite numbers can overflow, and a bar that is not finite cannot be stored.
    const half = (value / 2 - sum / 2) * (weight / weights);
    sum = sum + half + half;
    return { at, value: sum };
  });
}

/** The running mean at the last point up to `at`; null before the first point and after the end of the curve. */
function meanAt(points: readonly MinimizedPoint[], at: number): number | null {
  const isWithin = at >= (points[0]?.at ?? Number.POSITIVE_INFINITY) && at <= (points.at(-1)?.at ?? 0);
  return isWithin ? (points.findLast((point) => point.at <= at)?.value ?? null) : null;
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
  return lower / 2 + upper / 2;
}

/** The steps of the bar: at most CURVE_POINTS_MAX of those that enough curves may have reached. */
function stepsOf(curves: readonly (readonly MinimizedPoint[])[]): readonly number[] {
  const nth = COMPLETED_TRIALS_MIN - 1;
  const from = curves.map((points) => points[0]?.at ?? 0).sort((a, b) => a - b)[nth];
  const to = curves.map((points) => points.at(-1)?.at ?? 0).sort((a, b) => b - a)[nth];
  if (from === undefined || to === undefined) {
    return [];
  }
  const steps = new Set(curves.flatMap((points) => points.map(({ at }) => at)));
  return evenlyOf(
    [...steps].filter((at) => at >= from && at <= to).sort((a, b) => a - b),
    CURVE_POINTS_MAX,
  );
}

/** At most `countMax` of the points, the first and the last among them. */
function evenlyOf<T>(points: readonly T[], countMax: number): readonly T[] {
  if (points.length <= countMax) {
    return points;
  }
  return Array.from({ length: countMax }, (_, index) =>
    points.at(Math.round((index * (points.length - 1)) / (countMax - 1))),
  ).flatMap((point) => point ?? []);
}
