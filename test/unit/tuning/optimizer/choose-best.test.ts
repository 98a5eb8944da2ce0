import { describe, expect, it } from 'vitest';
import { chooseBest } from '#shared/tuning/optimizer/choose-best.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import { BRANIN, median, NETWORK, type SearchProblem, search } from './search-problem.ts';

const SEEDS = ['a', 'b', 'c', 'd', 'e'];

function truthOf({ objective }: SearchProblem, trial: FinishedTrial | undefined): number {
  return objective(trial?.values ?? {}) ?? Infinity;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('the best trial', () => {
  it('is recommended by its expected objective under noise, which is nearer to the truth than the best report', () => {
    const runs = SEEDS.map((seed) => {
      const finished = search(NETWORK, { algorithm: 'BAYESIAN', seed, trials: 30, noise: 0.3 });
      const best = chooseBest({ parameters: NETWORK.parameters, goal: 'MINIMIZE', finished });
      const [reported, recommended] = [finished[best?.reported ?? -1], finished[best?.recommended ?? -1]];
      const [reportedTruth, recommendedTruth] = [truthOf(NETWORK, reported), truthOf(NETWORK, recommended)];
      const reportedError = Math.abs(Number(reported?.objective) - reportedTruth);
      const expectedError = Math.abs(Number(best?.expected) - recommendedTruth);
      return { reportedTruth, recommendedTruth, reportedError, expectedError };
    });
    expect(mean(runs.map((run) => run.recommendedTruth))).toBeLessThan(mean(runs.map((run) => run.reportedTruth)));
    expect(mean(runs.map((run) => run.expectedError))).toBeLessThan(mean(runs.map((run) => run.reportedError)) / 2);
  });

  it('is the one that reported the best objective if reports have no noise', () => {
    for (const seed of SEEDS) {
      const finished = search(BRANIN, { algorithm: 'BAYESIAN', seed, trials: 20 });
      const best = chooseBest({ parameters: BRANIN.parameters, goal: 'MINIMIZE', finished });
      expect(best?.recommended).toBe(best?.reported);
      expect(best?.expected).toBe(finished[best?.reported ?? -1]?.objective);
    }
  });

  it('is the one that reported the best objective if one trial in eight does not converge', () => {
    const runs = SEEDS.map((seed) => {
      const finished = search(NETWORK, { algorithm: 'BAYESIAN', seed, trials: 40, outlierShare: 1 / 8 });
      return { finished, best: chooseBest({ parameters: NETWORK.parameters, goal: 'MINIMIZE', finished }) };
    });
    expect(runs.map(({ best }) => best?.recommended)).toEqual(runs.map(({ best }) => best?.reported));
    expect(median(runs.map(({ best, finished }) => truthOf(NETWORK, finished[best?.reported ?? -1])))).toBeLessThan(
      0.01,
    );
  });

  it('does not exist before a trial has an objective', () => {
    const finished = [{ values: { x: 1, y: 1 }, objective: null }];
    expect(chooseBest({ parameters: BRANIN.parameters, goal: 'MINIMIZE', finished })).toBe(null);
    expect(chooseBest({ parameters: BRANIN.parameters, goal: 'MINIMIZE', finished: [] })).toBe(null);
  });
});
