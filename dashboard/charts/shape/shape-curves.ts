import { type Column, smooth } from '#dashboard/charts/shape/smooth.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import type { SeriesPoints } from '#shared/protocol/metric-series.ts';

/** One line of a chart: a series within one attempt. */
export type Curve = {
  /** Distinguishes it from the other lines of its chart. */
  readonly label: string;
  /** Number of its color in the palette, from 0. */
  readonly color: number;
  readonly isDashed: boolean;
  readonly points: Pick<SeriesPoints, 'steps' | 'times' | 'values'>;
  /** From which relative times count, and what had been spent at a time; each job has its own. */
  readonly origin: number;
  readonly costAt?: ((at: number) => number) | null | undefined;
};

export type ShapeOptions = {
  readonly axis: XAxis;
  /** Weight of the moving average, 0 for none. */
  readonly smoothing: number;
  /** Whether the y-axis is logarithmic: values of 0 and below cannot be shown. */
  readonly isLogarithmic: boolean;
  /** Whether a pause that is much longer than usual interrupts a line; only for axes of time. */
  readonly hasGaps?: boolean;
};

/** A value that is not a finite number, which a chart marks at its place on the x-axis. */
export type Mark = { readonly x: number; readonly curve: number; readonly value: string };

/** Curves on one x-axis: columns of equal length, as uPlot draws them. */
export type ShapedCurves = {
  readonly xs: readonly number[];
  /** The time of each x: of the newest curve that has a point there. */
  readonly times: readonly number[];
  /** The values that are drawn: smoothed, if that was asked for. */
  readonly columns: readonly Column[];
  /** Before smoothing; the same arrays if there is none. */
  readonly rawColumns: readonly Column[];
  readonly marks: readonly Mark[];
  /** Values that a logarithmic axis leaves out. */
  readonly nonPositiveCount: number;
};

type Placed = { readonly x: number; readonly time: number; readonly value: number | null | undefined };

export function shapeCurves(curves: readonly Curve[], options: ShapeOptions): ShapedCurves {
  const marks: Mark[] = [];
  let nonPositiveCount = 0;
  const placed = curves.map((curve, index) => {
    const points = placePoints(curve, options.axis);
    return points.map(({ x, time, value }): Placed => {
      if (typeof value !== 'number') {
        marks.push({ x, curve: index, value });
        return { x, time, value: null };
      }
      if (options.isLogarithmic && value <= 0) {
        nonPositiveCount += 1;
        return { x, time, value: null };
      }
      return { x, time, value };
    });
  });
  const isTime = options.axis === 'wall' || options.axis === 'relative';
  const lines = options.hasGaps === true && isTime ? placed.map(interruptGaps) : placed;
  const { xs, times, columns } = alignColumns(lines);
  return {
    xs,
    times,
    columns: columns.map((column) => smooth(column, options.smoothing)),
    rawColumns: columns,
    marks,
    nonPositiveCount,
  };
}

type Point = { readonly x: number; readonly time: number; readonly value: number | string };

/** The points of a curve ordered by x; of several at the same x, the last one. */
function placePoints({ points, origin, costAt }: Curve, axis: XAxis): readonly Point[] {
  const { steps, times, values } = points;
  const xOf = (index: number): number => {
    const time = times[index] ?? 0;
    switch (axis) {
      case 'step':
        return steps?.[index] ?? time - origin;
      case 'relative':
        return time - origin;
      case 'wall':
        return time;
      case 'cost':
        return costAt?.(time) ?? 0;
    }
  };
  const all = values.map((value, index): Point => ({ x: xOf(index), time: times[index] ?? 0, value }));
  const isOrdered = all.every((point, index) => index === 0 || point.x >= (all[index - 1]?.x ?? 0));
  const ordered = isOrdered ? all : all.toSorted((a, b) => a.x - b.x);
  return ordered.filter((point, index) => ordered[index + 1]?.x !== point.x);
}

const GAP_FACTOR = 5;

/** Adds an interruption in the middle of every pause that is much longer than the median one. */
function interruptGaps(points: readonly Placed[]): readonly Placed[] {
  const pauses = points.slice(1).map(({ x }, index) => x - (points[index]?.x ?? x));
  const median = pauses.toSorted((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? 0;
  return points.flatMap((point, index) => {
    const next = points[index + 1];
    const isGap = next !== undefined && median > 0 && next.x - point.x > GAP_FACTOR * median;
    return isGap ? [point, { x: (point.x + next.x) / 2, time: (point.time + next.time) / 2, value: null }] : [point];
  });
}

function alignColumns(lines: readonly (readonly Placed[])[]) {
  const all = Float64Array.from(lines.flatMap((points) => points.map(({ x }) => x))).sort();
  const xs: number[] = [];
  for (const x of all) {
    if (x !== xs.at(-1)) {
      xs.push(x);
    }
  }
  const times = new Array<number>(xs.length).fill(0);
  const columns = lines.map((points) => {
    const column: Column = new Array(xs.length).fill(undefined);
    let index = 0;
    for (const { x, time, value } of points) {
      while ((xs[index] ?? Infinity) < x) {
        index += 1;
      }
      column[index] = value;
      times[index] = Math.max(times[index] ?? 0, time);
    }
    return column;
  });
  return { xs, times, columns };
}

/** The index with a number that is nearest to `index` in a column; null if there is none. */
export function nearestIndex(column: Column, index: number): number | null {
  for (let distance = 0; distance < column.length; distance += 1) {
    for (const candidate of [index - distance, index + distance]) {
      if (typeof column[candidate] === 'number') {
        return candidate;
      }
    }
  }
  return null;
}

/** The index of the number nearest to `target` in an ascending list; -1 for an empty one. */
export function indexNear(ascending: readonly number[], target: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) <= target) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const [below = Number.NaN, above = Number.NaN] = [ascending[low], ascending[high]];
  return high >= 0 && above - target < target - below ? high : Math.min(low, ascending.length - 1);
}

/** The times of the points within a part of the x-axis, and of their neighbors; null without points. */
export function timesWithin(
  { xs, times }: Pick<ShapedCurves, 'xs' | 'times'>,
  range: { readonly min: number; readonly max: number },
): { readonly from: number; readonly to: number } | null {
  const first = xs.findIndex((x) => x >= range.min);
  const last = xs.findLastIndex((x) => x <= range.max);
  if (first === -1 || last === -1) {
    return null;
  }
  const within = times.slice(Math.max(0, Math.min(first, last) - 1), Math.max(first, last) + 2);
  return { from: Math.min(...within), to: Math.max(...within) };
}
