import { chooseBest } from '#shared/tuning/optimizer/choose-best.ts';
import { createRandom } from '#shared/tuning/optimizer/random.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';
import type { Problem } from './problems/problem.ts';
import type { RunOptions, Sampler } from './samplers.ts';

/** Numbers of trials after which the regret is taken. */
export const MARKS = [20, 50, 100] as const;

/**
 * Regrets after a number of trials. 0 is the optimum; 1 is the median of random trials. Both are those of a trial's
 * truth, without noise.
 */
export type Regrets = {
  readonly trials: number;
  /** Of the trial that reported the best objective. */
  readonly reported: number;
  /** Of the trial that `chooseBest` recommends. */
  readonly recommended: number;
};

export type SearchResult = {
  readonly finished: readonly FinishedTrial[];
  readonly regrets: readonly Regrets[];
  readonly msPerSuggestion: number;
};

/** `parallel` trials are always pending; which of them ends next is drawn, equally for all samplers. */
export async function runSearch(sampler: Sampler, options: RunOptions & { trials: number }): Promise<SearchResult> {
  const { problem, seed, parallel, trials } = options;
  const [order, noise] = [createRandom(`order-${seed}`), createRandom(`noise-${seed}`)];
  const finished: FinishedTrial[] = [];
  const pending: Values[] = [];
  const regrets: Regrets[] = [];
  let ms = 0;
  while (finished.length < trials) {
    while (pending.length < parallel && pending.length + finished.length < trials) {
      const suggestion = await sampler.ask({ finished, pending });
      pending.push(suggestion.values);
      ms += suggestion.ms;
    }
    const [values = {}] = pending.splice(Math.floor(order() * pending.length), 1);
    const objective = problem.report(values, noise);
    finished.push({ values, objective });
    await sampler.tell(values, objective);
    if ((MARKS as readonly number[]).includes(finished.length)) {
      regrets.push({ trials: finished.length, ...regretsOf(problem, finished) });
    }
  }
  return { finished, regrets, msPerSuggestion: ms / trials };
}

const NO_OBJECTIVE_REGRET = 3;

function regretsOf(problem: Problem, finished: readonly FinishedTrial[]) {
  const best = chooseBest({ parameters: problem.parameters, goal: 'MINIMIZE', finished });
  const regretOf = (position: number | undefined) => {
    const truth = problem.truth(finished[position ?? -1]?.values ?? {});
    const { optimum } = problem;
    const isMissing = best === null || truth === null;
    return isMissing ? NO_OBJECTIVE_REGRET : Math.max(0, (truth - optimum) / (randomMedian(problem) - optimum));
  };
  return { reported: regretOf(best?.reported), recommended: regretOf(best?.recommended) };
}

const MEDIANS = new Map<string, number>();
const RANDOM_TRIALS = 2_000;

/** The median of random trials that do not fail. */
function randomMedian(problem: Problem): number {
  const known = MEDIANS.get(problem.name);
  if (known !== undefined) {
    return known;
  }
  const request = { parameters: problem.parameters, goal: 'MINIMIZE', algorithm: 'RANDOM', seed: 'median' } as const;
  const trials = Array.from({ length: RANDOM_TRIALS }, (_, ordinal) => {
    const [values = {}] = suggest({ ...request, finished: [], pending: [], ordinal }, 1);
    return problem.truth(values);
  });
  const truths = trials.filter((truth) => truth !== null).sort((a, b) => a - b);
  const median = truths[Math.floor(truths.length / 2)] ?? 1;
  MEDIANS.set(problem.name, median);
  return median;
}
