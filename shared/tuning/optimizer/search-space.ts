import type { Parameter } from '#shared/domain/study.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { type Dimension, readDimension } from './dimension.ts';

/** One coordinate per dimension. Inactive dimensions have a fixed one, so that equal values are equal points. */
export type Point = Float64Array;

export type SearchSpace = {
  /** The tree of parameters as a list; parents come before their children. */
  readonly dimensions: readonly ConditionalDimension[];
};

export type ConditionalDimension = Dimension & {
  /** The dimension on whose value this one depends; null if it is always active. */
  readonly parent: { readonly index: number; readonly values: ReadonlySet<string | number> } | null;
};

export function readSearchSpace(parameters: readonly Parameter[]): SearchSpace {
  const dimensions: ConditionalDimension[] = [];
  const add = (parameter: Parameter, parent: ConditionalDimension['parent']): void => {
    const index = dimensions.push({ ...readDimension(parameter), parent }) - 1;
    for (const child of parameter.children) {
      add(child.parameter, { index, values: new Set(child.parentValues) });
    }
  };
  for (const parameter of parameters) {
    add(parameter, null);
  }
  return { dimensions };
}

/** Whether the parameter exists given the values of its ancestors. */
export function isActive({ dimensions }: SearchSpace, point: Point, index: number): boolean {
  for (let parent = dimensions[index]?.parent; parent; parent = dimensions[parent.index]?.parent) {
    const value = dimensions[parent.index]?.toValue(coordinateOf(point, parent.index));
    if (value === undefined || !parent.values.has(value)) {
      return false;
    }
  }
  return true;
}

/** Moves each coordinate to the nearest value that exists. Changes and returns the given point. */
export function snap(space: SearchSpace, point: Point): Point {
  for (const [index, dimension] of space.dimensions.entries()) {
    point[index] = isActive(space, point, index)
      ? snapCoordinate(dimension, coordinateOf(point, index))
      : inactiveCoordinate(dimension);
  }
  return point;
}

function snapCoordinate(dimension: Dimension, coordinate: number): number {
  if (dimension.count !== Infinity) {
    return dimension.coordinateAt(dimension.indexAt(coordinate));
  }
  return Math.min(1, Math.max(0, coordinate));
}

function inactiveCoordinate({ isCategory }: Dimension): number {
  return isCategory ? 0 : 0.5;
}

/** The point of uniform samples of [0, 1), one per dimension. */
export function pointFromSamples(space: SearchSpace, samples: Float64Array): Point {
  return snap(
    space,
    samples.map((sample, index) => space.dimensions[index]?.fromUniform(sample) ?? 0),
  );
}

/** The values of the active parameters. */
export function valuesOf(space: SearchSpace, point: Point): Values {
  const entries = space.dimensions.flatMap(({ id, toValue }, index) =>
    isActive(space, point, index) ? [[id, toValue(coordinateOf(point, index))] as const] : [],
  );
  return Object.fromEntries(entries);
}

/**
 * The point of a trial's values; undefined if the space does not have them, as can happen with trials of an earlier
 * tuning: a value out of bounds, an unknown category, an additional parameter, or a missing one without a default.
 */
export function pointOf(space: SearchSpace, values: Values): Point | undefined {
  const point = new Float64Array(space.dimensions.length);
  const activeIds = new Set<string>();
  for (const [index, dimension] of space.dimensions.entries()) {
    if (!isActive(space, point, index)) {
      point[index] = inactiveCoordinate(dimension);
      continue;
    }
    const value = values[dimension.id] ?? dimension.default;
    const coordinate = value === undefined ? Number.NaN : dimension.toCoordinate(value);
    if (Number.isNaN(coordinate)) {
      return undefined;
    }
    point[index] = coordinate;
    activeIds.add(dimension.id);
  }
  return Object.keys(values).every((id) => activeIds.has(id)) ? point : undefined;
}

/** The given values, completed with defaults and otherwise from those of another trial. */
export function completeValues(space: SearchSpace, given: Values, others: Values): Values {
  const point = new Float64Array(space.dimensions.length);
  const fixed: Record<string, string | number> = {};
  for (const [index, dimension] of space.dimensions.entries()) {
    const { id, toCoordinate, fromUniform } = dimension;
    const own = given[id] ?? dimension.default;
    if (!isActive(space, point, index)) {
      point[index] = inactiveCoordinate(dimension);
    } else if (own !== undefined) {
      point[index] = toCoordinate(own);
      fixed[id] = own;
    } else {
      const coordinate = toCoordinate(others[id] ?? Number.NaN);
      point[index] = Number.isNaN(coordinate) ? fromUniform(0.5) : coordinate;
    }
  }
  // A coordinate would not lead back to exactly the given value.
  return { ...valuesOf(space, point), ...fixed };
}

/** Equal for equal points: the bytes of their coordinates, because numbers as text are ten times as slow. */
export function keyOf(point: Point): string {
  return String.fromCharCode(...new Uint16Array(point.slice().buffer));
}

export function coordinateOf(point: Point, index: number): number {
  return point[index] ?? 0;
}
