/** Columns of points, by increasing time. */
export type Points = {
  readonly steps: Float64Array | null;
  readonly times: Float64Array;
  readonly values: Float64Array;
};

/** At most this share of the points that are kept are not finite. */
const NON_FINITE_FRACTION_MAX = 0.25;

/**
 * Returns at most `countMax` points, at least 4: the first and the last one, the lowest and the highest of each stretch,
 * and those that are not finite, of which the first of each stretch if there are too many.
 */
export function thinPoints(points: Points, countMax: number): Points {
  const { length } = points.values;
  const limit = Math.max(4, countMax);
  if (length <= limit) {
    return points;
  }
  const nonFinite = selectNonFinite(points.values, Math.floor(limit * NON_FINITE_FRACTION_MAX));
  const stretchCount = Math.floor((limit - 2 - nonFinite.length) / 2);
  const kept = new Set([0, length - 1, ...nonFinite]);
  for (let stretch = 0; stretch < stretchCount; stretch += 1) {
    const start = Math.floor((stretch * length) / stretchCount);
    const end = Math.floor(((stretch + 1) * length) / stretchCount);
    for (const index of extremesOf(points.values, start, end)) {
      kept.add(index);
    }
  }
  return pickPoints(
    points,
    [...kept].sort((a, b) => a - b),
  );
}

/** The points within a range of times, both inclusive. */
export function pointsBetween(points: Points, from: number, to: number): Points {
  const start = points.times.findIndex((time) => time >= from);
  const end = points.times.findLastIndex((time) => time <= to) + 1;
  const slice = (column: Float64Array) =>
    start < 0 ? column.subarray(0, 0) : column.subarray(start, Math.max(start, end));
  return {
    steps: points.steps === null ? null : slice(points.steps),
    times: slice(points.times),
    values: slice(points.values),
  };
}

export function joinPoints(all: readonly Points[]): Points {
  const hasSteps = all.every(({ steps }) => steps !== null);
  return {
    steps: hasSteps ? join(all.flatMap(({ steps }) => (steps === null ? [] : [steps]))) : null,
    times: join(all.map(({ times }) => times)),
    values: join(all.map(({ values }) => values)),
  };
}

function join(columns: readonly Float64Array[]): Float64Array {
  const joined = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const column of columns) {
    joined.set(column, offset);
    offset += column.length;
  }
  return joined;
}

function selectNonFinite(values: Float64Array, countMax: number): readonly number[] {
  let count = 0;
  for (const value of values) {
    count += Number.isFinite(value) ? 0 : 1;
  }
  const stretch = count <= countMax ? 1 : values.length / countMax;
  const selected: number[] = [];
  let nextStretch = -1;
  for (const [index, value] of values.entries()) {
    if (!Number.isFinite(value) && Math.floor(index / stretch) > nextStretch) {
      nextStretch = Math.floor(index / stretch);
      selected.push(index);
    }
  }
  return selected;
}

function extremesOf(values: Float64Array, start: number, end: number): readonly number[] {
  let [lowest, highest] = [-1, -1];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let index = start; index < end; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (value < min && value > Number.NEGATIVE_INFINITY) {
      [lowest, min] = [index, value];
    }
    if (value > max && value < Number.POSITIVE_INFINITY) {
      [highest, max] = [index, value];
    }
  }
  return [lowest, highest].filter((index) => index >= 0);
}

export function pickPoints({ steps, times, values }: Points, indices: readonly number[]): Points {
  const select = (column: Float64Array) => Float64Array.from(indices, (index) => column[index] ?? Number.NaN);
  return { steps: steps === null ? null : select(steps), times: select(times), values: select(values) };
}
