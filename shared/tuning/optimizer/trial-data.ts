import type { Metric } from '#shared/domain/study.ts';
import type { Values } from '#shared/tuning/trial.ts';
import type { Observations } from './gaussian-process.ts';
import { type Point, pointOf, type SearchSpace } from './search-space.ts';
import { standardize } from './standardize.ts';

/** A trial that has ended. The objective is null if it failed, was infeasible or did not report a finite number. */
export type FinishedTrial = {
  readonly values: Values;
  readonly objective: number | null;
  /** The values of the further objectives, in the order of the study. */
  readonly furtherObjectives?: readonly number[];
};

export type TrialData = {
  /** Trials with an objective, in the order in which they were given. */
  readonly points: readonly Point[];
  /** The values that are to be minimized. */
  readonly costs: readonly number[];
  /** The costs, standardized. */
  readonly targets: Float64Array;
  /** The positions of these trials in the list that was given. */
  readonly positions: readonly number[];
  /** The objective of a target. */
  objectiveOf(target: number): number;
  readonly failed: readonly Point[];
};

/** Reads the trials whose values the space has. */
export function readTrials(
  finished: readonly FinishedTrial[],
  { space, goal }: { readonly space: SearchSpace; readonly goal: Metric['goal'] },
): TrialData {
  const sign = goal === 'MAXIMIZE' ? -1 : 1;
  const [points, costs, positions, failed]: [Point[], number[], number[], Point[]] = [[], [], [], []];
  for (const [position, { values, objective }] of finished.entries()) {
    const point = pointOf(space, values);
    if (point === undefined) {
      continue;
    }
    if (objective === null || !Number.isFinite(objective)) {
      failed.push(point);
    } else {
      points.push(point);
      costs.push(sign * objective);
      positions.push(position);
    }
  }
  const { targets, costOf } = standardize(costs);
  return { points, costs, targets, positions, failed, objectiveOf: (target) => sign * costOf(target) };
}

/** At most `countMax` trials: the best third, and of the others an even selection by rank. */
export function selectTrials(
  { points, targets }: Pick<TrialData, 'points' | 'targets'>,
  countMax: number,
): Pick<TrialData, 'points' | 'targets'> {
  if (points.length <= countMax) {
    return { points, targets };
  }
  const order = points.map((_, index) => index).sort((a, b) => (targets[a] ?? 0) - (targets[b] ?? 0));
  const best = order.slice(0, Math.floor(countMax / 3));
  const rest = order.slice(best.length);
  const selected = [...best, ...selectEvenly(rest, countMax - best.length)];
  return {
    points: selected.flatMap((index) => points[index] ?? []),
    targets: Float64Array.from(selected, (index) => targets[index] ?? 0),
  };
}

/** The trials whose point and target satisfy a condition. */
export function selectWhere(data: TrialData, isSelected: (point: Point, target: number) => boolean): TrialData {
  const indices = data.points.flatMap((point, index) => (isSelected(point, data.targets[index] ?? 0) ? [index] : []));
  const pick = <T>(items: ArrayLike<T>) => indices.map((index) => items[index] as T);
  const { points, costs, targets, positions } = data;
  const selected = { points: pick(points), costs: pick(costs), positions: pick(positions) };
  return { ...data, ...selected, targets: Float64Array.from(pick(targets)) };
}

export function selectEvenly<T>(items: readonly T[], countMax: number): readonly T[] {
  return items.length <= countMax
    ? items
    : Array.from({ length: countMax }, (_, index) => items[Math.floor((index * items.length) / countMax)] as T);
}

export function observationsOf(
  { points, targets }: Pick<TrialData, 'points' | 'targets'>,
  { dimensions }: SearchSpace,
): Observations {
  return { points, targets, isCategory: dimensions.map(({ isCategory }) => isCategory) };
}
