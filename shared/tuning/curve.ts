import { isDeepStrictEqual } from 'node:util';
import { CURVE_POINTS_MAX, type Curve, type Measurement } from '#shared/tuning/trial.ts';

/** Measurements that one attempt of a trial has reported; `elapsedMs` of each is the running time in this attempt. */
export type MeasurementReport = {
  readonly tuningId: string;
  readonly ordinal: number;
  readonly attempt: number;
  /** Running time of earlier attempts, in milliseconds. */
  readonly ranMs: number;
  readonly measurements: readonly Measurement[];
};

/**
 * Returns the curve with these measurements, at most CURVE_POINTS_MAX of them; the same object if nothing is new. A
 * later attempt goes on from a checkpoint: it replaces the points from its first step on. What an earlier attempt
 * reports after it is ignored. Values of one step are merged, so that a duplicate changes nothing.
 */
export function appendMeasurements(curve: Curve | undefined, report: MeasurementReport): Curve {
  const { tuningId, ordinal, attempt, ranMs, measurements } = report;
  const known = curve ?? { tuningId, ordinal, attempt, points: [] };
  if (attempt < known.attempt || measurements.length === 0) {
    return known;
  }
  const points = new Map(pointsToKeep(known, report).map((point) => [point.step, point]));
  for (const { step, elapsedMs, values } of measurements) {
    const before = points.get(step);
    points.set(step, {
      step,
      elapsedMs: Math.max(before?.elapsedMs ?? 0, ranMs + elapsedMs),
      values: { ...before?.values, ...values },
    });
  }
  const sorted = thinOut([...points.values()].sort((a, b) => a.step - b.step));
  return attempt === known.attempt && isDeepStrictEqual(known.points, sorted)
    ? known
    : { tuningId, ordinal, attempt, points: sorted };
}

function pointsToKeep(curve: Curve, { attempt, measurements }: MeasurementReport): readonly Measurement[] {
  if (attempt === curve.attempt) {
    return curve.points;
  }
  const firstStep = Math.min(...measurements.map(({ step }) => step));
  return curve.points.filter(({ step }) => step < firstStep);
}

/** Drops every other point if there are too many, but not the last one, nor the lowest and highest of a metric. */
function thinOut(points: readonly Measurement[], kept = extremesOf(points)): readonly Measurement[] {
  if (points.length <= CURVE_POINTS_MAX) {
    return points;
  }
  const last = points.length - 1;
  const left = points.filter((point, index) => index % 2 === 0 || index === last || kept.has(point));
  // If a curve cannot hold the extremes of all metrics, the number of its points counts more.
  return thinOut(left, left.length < points.length ? kept : new Set());
}

/** Which of the two is the best depends on the metric's goal, which a curve does not know. */
function extremesOf(points: readonly Measurement[]): ReadonlySet<Measurement> {
  const lowest = new Map<string, readonly [number, Measurement]>();
  const highest = new Map<string, readonly [number, Measurement]>();
  for (const point of points) {
    for (const [name, value] of Object.entries(point.values)) {
      if (typeof value === 'number') {
        if (value < (lowest.get(name)?.[0] ?? Number.POSITIVE_INFINITY)) {
          lowest.set(name, [value, point]);
        }
        if (value > (highest.get(name)?.[0] ?? Number.NEGATIVE_INFINITY)) {
          highest.set(name, [value, point]);
        }
      }
    }
  }
  return new Set([...lowest.values(), ...highest.values()].map(([, point]) => point));
}
