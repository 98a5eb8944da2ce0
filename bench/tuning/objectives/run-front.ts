import { createRandom } from '#shared/tuning/optimizer/random.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Costs } from '#shared/tuning/pareto.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { hypervolumeOf } from './hypervolume.ts';
import type { MultiProblem } from './problems.ts';

export type FrontRun = {
  readonly algorithm: 'BAYESIAN' | 'RANDOM';
  readonly seed: number;
  readonly parallel: number;
  readonly trials: number;
};

/** The share of the known front's hypervolume that a run has found, and its CPU time per suggestion. */
export type FrontResult = { readonly share: number; readonly msPerSuggestion: number };

export function runFront(problem: MultiProblem, { algorithm, seed, parallel, trials }: FrontRun): FrontResult {
  const order = createRandom(`order-${seed}`);
  const furtherGoals = problem.reference.slice(1).map(() => 'MINIMIZE' as const);
  const finished: FinishedTrial[] = [];
  const pending: Values[] = [];
  const found: Costs[] = [];
  const start = process.cpuUsage();
  for (let ordinal = 0; finished.length < trials; ) {
    while (pending.length < parallel && ordinal < trials) {
      const { parameters } = problem;
      const known = { finished, pending, ordinal, seed: `bench-${seed}` };
      pending.push(...suggest({ parameters, algorithm, goal: 'MINIMIZE', furtherGoals, ...known }, 1));
      ordinal += 1;
    }
    const [values = {}] = pending.splice(Math.floor(order() * pending.length), 1);
    const costs = problem.costs(values);
    const [objective = 0, ...furtherObjectives] = costs;
    found.push(costs);
    finished.push({ values, objective, furtherObjectives });
  }
  const { user, system } = process.cpuUsage(start);
  const share = hypervolumeOf(found, problem.reference) / hypervolumeOf(problem.front, problem.reference);
  return { share, msPerSuggestion: (user + system) / 1_000 / trials };
}
