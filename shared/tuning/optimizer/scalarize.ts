import type { Metric } from '#shared/domain/study.ts';
import { costsOf } from '#shared/tuning/pareto.ts';
import { createHalton } from './random.ts';
import { standardize } from './standardize.ts';
import type { FinishedTrial } from './trial-data.ts';

/** The share of the weighted sum, without which trials that are equal in their worst objective would be equal. */
const SUM_SHARE = 0.05;

/** The weight of each objective in a suggestion: positive numbers whose sum is 1. */
export type Weights = readonly number[];

/**
 * The weights of a suggestion: consecutive ones cover the simplex evenly. The same seed and ordinal give the same
 * weights.
 */
export function weightsAt(ordinal: number, count: number, seed: string): Weights {
  const samples = createHalton(count, `${seed}/weights`)(ordinal);
  // Exponentially distributed numbers, divided by their sum, are uniform on the simplex.
  const parts = [...samples].map((sample) => -Math.log(1 - sample * (1 - Number.EPSILON)) + Number.EPSILON);
  const sum = parts.reduce((total, part) => total + part, 0);
  return parts.map((part) => part / sum);
}

/**
 * The trials with one objective, which is to be minimized: the augmented Tchebycheff distance to the best value of each
 * objective (ParEGO: Knowles, "ParEGO: a hybrid algorithm with on-line landscape approximation for expensive
 * multiobjective optimization problems", IEEE Transactions on Evolutionary Computation, 2006). Each objective is scaled
 * as that of a study with one, so that one that diverged leaves the others distinct.
 */
export function scalarize(
  finished: readonly FinishedTrial[],
  { goals, weights }: { readonly goals: readonly Metric['goal'][]; readonly weights: Weights },
): readonly FinishedTrial[] {
  const costs = finished.map((trial) => costsOfTrial(trial, goals));
  const known = costs.filter((one) => one !== undefined);
  const scaled = goals.map((_, index) => scaleToUnit(known.map((one) => one[index] ?? 0)));
  let next = 0;
  return finished.map(({ values }, position) => {
    if (costs[position] === undefined) {
      return { values, objective: null };
    }
    const distances = weights.map((weight, index) => weight * (scaled[index]?.[next] ?? 0));
    next += 1;
    const sum = distances.reduce((total, distance) => total + distance, 0);
    return { values, objective: Math.max(...distances) + SUM_SHARE * sum };
  });
}

/** Undefined if an objective is missing or not finite, as of a trial that failed. */
function costsOfTrial({ objective, furtherObjectives = [] }: FinishedTrial, goals: readonly Metric['goal'][]) {
  const objectives = objective === null ? [] : [objective, ...furtherObjectives];
  const isComplete = objectives.length === goals.length && objectives.every(Number.isFinite);
  return isComplete ? costsOf(objectives, goals) : undefined;
}

/** From 0 for the lowest to 1 for the highest, with the worse half drawn in. */
function scaleToUnit(costs: readonly number[]): Float64Array {
  const { targets } = standardize(costs);
  const lowest = targets.reduce((low, target) => Math.min(low, target), Number.POSITIVE_INFINITY);
  const highest = targets.reduce((high, target) => Math.max(high, target), Number.NEGATIVE_INFINITY);
  return targets.map((target) => (target - lowest) / (highest - lowest || 1));
}
