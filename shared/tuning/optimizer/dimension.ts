import type { Parameter, ParameterScale, ParameterSpace } from '#shared/domain/study.ts';

/** Grids with more values are searched like continuous ranges, and rounded. */
const GRID_VALUES_MAX = 20;

/**
 * A parameter as the model sees it. A coordinate is a position on the parameter's scale in [0, 1], or the index of a
 * category.
 */
export type Dimension = {
  readonly id: string;
  /** The value of trials that do not have the parameter. */
  readonly default: string | number | undefined;
  readonly isCategory: boolean;
  /** Number of values; Infinity for a continuous range. */
  readonly count: number;
  /** Whether the search follows slopes. Otherwise it tries neighboring values. */
  readonly isSmooth: boolean;
  /** NaN for a value that the parameter cannot have. */
  toCoordinate(value: string | number): number;
  /** The value that is nearest on the scale. */
  toValue(coordinate: number): string | number;
  /** The coordinate of the value with this index, in increasing order; of a finite dimension only. */
  coordinateAt(index: number): number;
  /** The index of the nearest value; of a finite dimension only. */
  indexAt(coordinate: number): number;
  /** Maps a uniform sample of [0, 1) to a coordinate such that all values of a linear grid are equally probable. */
  fromUniform(sample: number): number;
};

export function readDimension({ id, space, scale, default: fallback }: Parameter): Dimension {
  const common = { id, default: fallback };
  switch (space.kind) {
    case 'CATEGORICAL':
      return { ...common, ...readCategories(space.values) };
    case 'DISCRETE':
      return { ...common, ...readList(space.values, scale) };
    case 'DOUBLE':
    case 'INTEGER':
      return { ...common, ...readRange(space, scale) };
  }
}

type Space = Omit<Dimension, 'id' | 'default'>;

function readCategories(values: readonly string[]): Space {
  const last = values.length - 1;
  const indexAt = (coordinate: number) => Math.min(last, Math.max(0, Math.floor(coordinate)));
  return {
    isCategory: true,
    count: values.length,
    isSmooth: false,
    toCoordinate(value) {
      const index = values.indexOf(String(value));
      return index < 0 ? Number.NaN : index;
    },
    toValue: (coordinate) => values[indexAt(coordinate)] ?? '',
    coordinateAt: (index) => index,
    indexAt,
    fromUniform: (sample) => indexAt(sample * values.length),
  };
}

function readList(values: readonly number[], scale: ParameterScale): Space {
  const { toUnit } = createScale(scale, { min: values[0] ?? 0, max: values.at(-1) ?? 0 });
  const units = values.map(toUnit);
  const indexAt = (coordinate: number) => {
    const next = units.findIndex((unit) => unit >= coordinate);
    const [below = Number.NEGATIVE_INFINITY, above = Number.POSITIVE_INFINITY] = [units[next - 1], units[next]];
    return next < 0 ? units.length - 1 : coordinate - below < above - coordinate ? next - 1 : next;
  };
  return {
    isCategory: false,
    count: values.length,
    isSmooth: values.length > GRID_VALUES_MAX,
    toCoordinate: (value) => units[values.indexOf(Number(value))] ?? Number.NaN,
    toValue: (coordinate) => values[indexAt(coordinate)] ?? 0,
    coordinateAt: (index) => units[index] ?? 0,
    indexAt,
    fromUniform: (sample) => units[Math.floor(sample * units.length)] ?? 0,
  };
}

type Range = Extract<ParameterSpace, { readonly min: number }>;

function readRange({ kind, min, max }: Range, scale: ParameterScale): Space {
  const { toUnit, fromUnit } = createScale(scale, { min, max });
  const isWhole = kind === 'INTEGER';
  const count = isWhole ? max - min + 1 : min === max ? 1 : Infinity;
  const toValue = (coordinate: number) => {
    const value = Math.min(max, Math.max(min, fromUnit(coordinate)));
    return isWhole ? Math.round(value) : value;
  };
  // Without the half steps, the first and the last whole number would be half as probable as the others.
  const [low, high] = isWhole && count > 1 ? [toUnit(min - 0.5), toUnit(max + 0.5)] : [0, 1];
  const [start, end] = [Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 1];
  const fromUniform = (sample: number) => {
    const coordinate = Math.min(1, Math.max(0, start + sample * (end - start)));
    return isWhole ? toUnit(toValue(coordinate)) : coordinate;
  };
  return {
    isCategory: false,
    count,
    isSmooth: count > GRID_VALUES_MAX,
    toCoordinate(value) {
      const isValid =
        typeof value === 'number' && value >= min && value <= max && (!isWhole || Number.isInteger(value));
      return isValid ? toUnit(value) : Number.NaN;
    },
    toValue,
    coordinateAt: (index) => toUnit(min + index),
    indexAt: (coordinate) => toValue(coordinate) - min,
    fromUniform,
  };
}

type Bounds = { readonly min: number; readonly max: number };

/**
 * REVERSE_LOG is the log scale of the distance from the top. Scales that the bounds do not allow are linear, and ranges
 * that are too narrow for their scale have a single coordinate.
 */
function createScale(scale: ParameterScale, { min, max }: Bounds) {
  if (min > 0 && scale === 'LOG') {
    const [low, width] = [Math.log(min), Math.log(max) - Math.log(min)];
    return {
      toUnit: (value: number) => divide(Math.log(value) - low, width),
      fromUnit: (unit: number) => Math.exp(low + unit * width),
    };
  }
  if (min > 0 && scale === 'REVERSE_LOG' && Number.isFinite(min + max)) {
    const [high, width] = [Math.log(max), Math.log(max) - Math.log(min)];
    return {
      toUnit: (value: number) => divide(high - Math.log(min + max - value), width),
      fromUnit: (unit: number) => min + max - Math.exp(high - unit * width),
    };
  }
  // Halves, because the width of a range of large numbers can overflow.
  const width = max / 2 - min / 2;
  return {
    toUnit: (value: number) => divide(value / 2 - min / 2, width),
    fromUnit: (unit: number) => min * (1 - unit) + max * unit,
  };
}

function divide(part: number, width: number): number {
  return width > 0 ? part / width : 0.5;
}
