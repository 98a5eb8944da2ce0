import type { Parameter } from '#shared/domain/study.ts';
import { createRandom, type Random, sampleNormal } from '#shared/tuning/optimizer/random.ts';
import { type SuggestRequest, suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';

export type SearchProblem = {
  readonly parameters: readonly Parameter[];
  /** The value that is minimized; null if the trial fails. The optimum is 0. */
  objective(values: Values): number | null;
};

const number = (values: Values, id: string) => Number(values[id] ?? 0);

/** A network: the best rate depends on the optimizer, of which only one has a momentum. */
export const NETWORK: SearchProblem = {
  parameters: [
    { id: 'rate', space: { kind: 'DOUBLE', min: 1e-6, max: 10 }, scale: 'LOG', children: [] },
    { id: 'units', space: { kind: 'INTEGER', min: 4, max: 4_096 }, scale: 'LOG', children: [] },
    {
      id: 'optimizer',
      space: { kind: 'CATEGORICAL', values: ['adam', 'sgd'] },
      scale: 'NONE',
      children: [
        {
          parentValues: ['sgd'],
          parameter: { id: 'momentum', space: { kind: 'DOUBLE', min: 0, max: 0.99 }, scale: 'LINEAR', children: [] },
        },
      ],
    },
  ],
  objective(values) {
    const isSgd = values.optimizer === 'sgd';
    const rate = Math.log10(number(values, 'rate')) + (isSgd ? 1.2 : 3.4);
    const units = Math.log2(number(values, 'units')) - 9;
    const momentum = isSgd ? 4 * (number(values, 'momentum') - 0.85) ** 2 : 0.3;
    return rate ** 2 / 4 + units ** 2 / 10 + momentum;
  },
};

export const X: Parameter = { id: 'x', space: { kind: 'DOUBLE', min: -5, max: 10 }, scale: 'LINEAR', children: [] };
export const Y: Parameter = { id: 'y', space: { kind: 'DOUBLE', min: 0, max: 15 }, scale: 'LINEAR', children: [] };

/** Branin's function: three equal optima in curved valleys. */
export const BRANIN: SearchProblem = {
  parameters: [X, Y],
  objective(values) {
    const [x, y] = [number(values, 'x'), number(values, 'y')];
    const bend = y - (5.1 / (4 * Math.PI ** 2)) * x * x + (5 / Math.PI) * x - 6;
    return bend ** 2 + 10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) + 10 - 0.397887;
  },
};

/** The optimum is beside a region in which all trials fail. */
export const FAILING: SearchProblem = {
  parameters: [X, Y],
  objective(values) {
    const [x, y] = [number(values, 'x'), number(values, 'y')];
    return x + y > 12 ? null : ((x - 6) ** 2 + (y - 5) ** 2) / 10;
  },
};

/** 87 % of the space fail, its edges and corners among them. */
export const MOSTLY_FAILING: SearchProblem = {
  parameters: [X, Y],
  objective(values) {
    const [x, y] = [number(values, 'x') - 5.5, number(values, 'y') - 10.5];
    return Math.max(Math.abs(x), Math.abs(y)) > 2.7 ? null : (x - 1) ** 2 + (y + 1) ** 2;
  },
};

/** A bowl with many local optima. */
export const ROUGH: SearchProblem = {
  parameters: [X, Y],
  objective(values) {
    const waves = [number(values, 'x') - 3.9, number(values, 'y') - 5.2].map((z) => z * z + 10 - 10 * Math.cos(4 * z));
    return (waves[0] ?? 0) + (waves[1] ?? 0);
  },
};

export type SearchOptions = {
  readonly algorithm: SuggestRequest['algorithm'];
  readonly seed: string;
  readonly trials: number;
  /** Standard deviation of what is reported. */
  readonly noise?: number;
  /** The share of the trials that do not converge, whatever their values. */
  readonly outlierShare?: number;
};

/** Runs one trial after another. */
export function search({ parameters, objective }: SearchProblem, options: SearchOptions): FinishedTrial[] {
  const { algorithm, seed, trials, noise = 0, outlierShare = 0 } = options;
  const random: Random = createRandom(`noise of ${seed}`);
  const finished: FinishedTrial[] = [];
  for (let ordinal = 0; ordinal < trials; ordinal += 1) {
    const request: SuggestRequest = { parameters, goal: 'MINIMIZE', algorithm, finished, pending: [], ordinal, seed };
    const [values = {}] = suggest(request, 1);
    const truth = objective(values);
    const error = outlierShare > 0 && random() < outlierShare ? 300 : noise * sampleNormal(random);
    finished.push({ values, objective: truth === null ? null : truth + error });
  }
  return finished;
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
