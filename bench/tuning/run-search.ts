import { chooseBest } from '#shared/tuning/optimizer/choose-best.ts';
import { createRandom } from '#shared/tuning/optimizer/random.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Problem } from './problem.ts';

export type SearchOptions = {
  readonly algorithm: 'BAYESIAN' | 'RANDOM';
  readonly seed: number;
  readonly trials: number;
};

/**
 * The regret of the trial that `chooseBest` recommends (the one with the best report if `algorithm` is RANDOM) after
 * trials one at a time: 0 is the optimum, 1 the median of random trials, both without noise. The same seed has the same
 * regret.
 */
export function regretOf(problem: Problem, { algorithm, seed, trials }: SearchOptions): number {
  const { parameters, optimum } = problem;
  const noise = createRandom(`noise-${seed}`);
  const finished: FinishedTrial[] = [];
  for (let ordinal = 0; ordinal < trials; ordinal += 1) {
    const request = { parameters, algorithm, finished, pending: [], ordinal, goal: 'MINIMIZE' } as const;
    const [values = {}] = suggest({ ...request, seed: `bench-${seed}` }, 1);
    finished.push({ values, objective: problem.report(values, noise) });
  }
  const best = chooseBest({ parameters, goal: 'MINIMIZE', finished });
  const index = algorithm === 'BAYESIAN' ? best?.recommended : best?.reported;
  const truth = index === undefined ? null : problem.truth(finished[index]?.values ?? {});
  return truth === null ? NO_OBJECTIVE_REGRET : Math.max(0, (truth - optimum) / (randomMedian(problem) - optimum));
}

const NO_OBJECTIVE_REGRET = 3;
const RANDOM_TRIALS = 2_000;
const medians = new Map<string, number>();

/** The median of random trials that do not fail. */
function randomMedian({ name, parameters, truth }: Problem): number {
  const known = medians.get(name);
  if (known !== undefined) {
    return known;
  }
  const request = {
    parameters,
    goal: 'MINIMIZE',
    algorithm: 'RANDOM',
    seed: 'median',
    finished: [],
    pending: [],
  } as const;
  const truths = Array.from({ length: RANDOM_TRIALS }, (_, ordinal) => {
    const [values = {}] = suggest({ ...request, ordinal }, 1);
    return truth(values);
  })
    .filter((one) => one !== null)
    .sort((a, b) => a - b);
  const median = truths[Math.floor(truths.length / 2)] ?? 1;
  medians.set(name, median);
  return median;
}
