import type { Metric } from '#shared/domain/study.ts';

/**
 * The values that are minimized, one number an objective: the objectives, or the negatives of those that are to be
 * maximized.
 */
export type Costs = readonly number[];

export function costsOf(objectives: readonly number[], goals: readonly Metric['goal'][]): Costs {
  return objectives.map((objective, index) => (goals[index] === 'MAXIMIZE' ? 0 - objective : objective));
}

/** Whether `one` is at least as good in every objective, and better in one of them. */
export function dominates(one: Costs, other: Costs): boolean {
  return one.every((cost, index) => cost <= at(other, index)) && one.some((cost, index) => cost < at(other, index));
}

function at(costs: Costs, index: number): number {
  return costs[index] ?? Number.POSITIVE_INFINITY;
}

/** The items that no other item dominates, in their order: the Pareto front. With one objective, the best ones. */
export function paretoFrontOf<T extends { readonly costs: Costs }>(items: readonly T[]): readonly T[] {
  // In increasing order of the first cost, an item can be dominated by earlier ones only, and by those of the front.
  const sorted = items.toSorted((a, b) => compareCosts(a.costs, b.costs));
  const front: T[] = [];
  for (const item of sorted) {
    if (!front.some(({ costs }) => dominates(costs, item.costs))) {
      front.push(item);
    }
  }
  const kept = new Set(front);
  return items.filter((item) => kept.has(item));
}

function compareCosts(a: Costs, b: Costs): number {
  const index = a.findIndex((cost, position) => cost !== b[position]);
  return index < 0 ? 0 : at(a, index) - at(b, index);
}
