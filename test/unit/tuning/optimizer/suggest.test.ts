import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Parameter } from '#shared/domain/study.ts';
import { type SuggestRequest, suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { areValid } from './parameter-arbitrary.ts';
import {
  BRANIN,
  FAILING,
  MOSTLY_FAILING,
  median,
  NETWORK,
  ROUGH,
  type SearchProblem,
  search,
  X,
  Y,
} from './search-problem.ts';

const SEEDS = ['a', 'b', 'c', 'd', 'e'];

function requestAfter(problem: SearchProblem, finished: readonly FinishedTrial[]): SuggestRequest {
  const { parameters } = problem;
  const ordinal = finished.length;
  return { parameters, goal: 'MINIMIZE', algorithm: 'BAYESIAN', finished, pending: [], ordinal, seed: 'tuning-1' };
}

function lowest(trials: readonly FinishedTrial[]): number {
  return Math.min(...trials.map(({ objective }) => objective ?? Infinity));
}

describe('a Bayesian search', () => {
  it.each([
    ['a network with a conditional parameter', NETWORK],
    ['a function with curved valleys', BRANIN],
  ])('is ten times nearer to the optimum of %s than random trials are, after 30 trials', (_, problem) => {
    const regrets = (algorithm: SuggestRequest['algorithm']) =>
      SEEDS.slice(0, 3).map((seed) => lowest(search(problem, { algorithm, seed, trials: 30 })));
    expect(median(regrets('BAYESIAN'))).toBeLessThan(median(regrets('RANDOM')) / 10);
  });

  it('maximizes if that is the goal', () => {
    const finished = search(BRANIN, { algorithm: 'BAYESIAN', seed: 'a', trials: 12 });
    const negated = finished.map(({ values, objective }) => ({ values, objective: -(objective ?? 0) }));
    const request = requestAfter(BRANIN, finished);
    expect(suggest({ ...request, goal: 'MAXIMIZE', finished: negated }, 2)).toEqual(suggest(request, 2));
  });

  it('suggests the same values for the same request, in another process too', () => {
    const request = requestAfter(NETWORK, search(NETWORK, { algorithm: 'BAYESIAN', seed: 'a', trials: 10 }));
    const script = `import { suggest } from '#shared/tuning/optimizer/suggest.ts';
      process.stdout.write(JSON.stringify(suggest(${JSON.stringify(request)}, 3)));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual(suggest(request, 3));
  });

  it('suggests other values to other tunings', () => {
    const request = requestAfter(NETWORK, search(NETWORK, { algorithm: 'BAYESIAN', seed: 'a', trials: 2 }));
    expect(suggest({ ...request, seed: 'tuning-2' }, 1)).not.toEqual(suggest(request, 1));
  });

  it('suggests several trials as if each were pending for the next', () => {
    const finished = search(NETWORK, { algorithm: 'BAYESIAN', seed: 'a', trials: 10 });
    let request = requestAfter(NETWORK, finished);
    const together = suggest(request, 5);
    const alone = together.map(() => {
      const [values = {}] = suggest(request, 1);
      request = { ...request, pending: [...request.pending, values], ordinal: request.ordinal + 1 };
      return values;
    });
    expect(together).toEqual(alone);
  });

  it('keeps away from pending trials', () => {
    for (const seed of SEEDS) {
      const request = requestAfter(BRANIN, search(BRANIN, { algorithm: 'BAYESIAN', seed, trials: 12 }));
      const suggestions = suggest(request, 10);
      const distances = suggestions.flatMap((one, index) =>
        suggestions.slice(0, index).map((other) => distance(one, other)),
      );
      expect(Math.min(...distances)).toBeGreaterThanOrEqual(0.01);
    }
  });

  it('spreads pending trials as far as what it knows allows', () => {
    const widths = SEEDS.map((seed) => {
      const suggestions = suggest(requestAfter(BRANIN, search(BRANIN, { algorithm: 'BAYESIAN', seed, trials: 6 })), 4);
      return Math.max(...suggestions.flatMap((one) => suggestions.map((other) => distance(one, other))));
    });
    expect(median(widths)).toBeGreaterThan(0.3);
  });

  it('learns where trials fail, and finds an optimum beside that region', () => {
    const finished = search(FAILING, { algorithm: 'BAYESIAN', seed: 'a', trials: 30 });
    const random = search(FAILING, { algorithm: 'RANDOM', seed: 'a', trials: 30 });
    const countFailed = (trials: readonly FinishedTrial[]) =>
      trials.filter(({ objective }) => objective === null).length;
    expect(countFailed(finished)).toBeLessThan(countFailed(random));
    expect(lowest(finished)).toBeLessThan(lowest(random) / 50);
  });

  it('finds where trials succeed if most fail', () => {
    for (const seed of SEEDS) {
      const finished = search(MOSTLY_FAILING, { algorithm: 'BAYESIAN', seed, trials: 40 });
      const random = search(MOSTLY_FAILING, { algorithm: 'RANDOM', seed, trials: 40 });
      expect(lowest(finished)).toBeLessThan(lowest(random) / 2);
    }
  });

  it('goes beside the best trials of a rough function, once equal reports have shown that it has no noise', () => {
    const regrets = (algorithm: SuggestRequest['algorithm']) =>
      SEEDS.map((seed) => lowest(search(ROUGH, { algorithm, seed, trials: 50 })));
    expect(median(regrets('BAYESIAN'))).toBeLessThan(median(regrets('RANDOM')) / 2);
  });

  it('learns from failures before it has enough trials to model the objective', () => {
    const kind: Parameter = {
      id: 'kind',
      space: { kind: 'CATEGORICAL', values: ['works', 'always fails'] },
      scale: 'NONE',
      children: [],
    };
    const objective = (values: Values) => (values.kind === 'works' ? (BRANIN.objective(values) ?? 0) : null);
    const failures = SEEDS.map((seed) => {
      const options = { algorithm: 'BAYESIAN', seed, trials: 9 } as const;
      const trials = search({ parameters: [X, Y, kind], objective }, options);
      return trials.filter((trial) => trial.objective === null).length;
    });
    expect(median(failures)).toBeLessThanOrEqual(2);
  });

  it('goes on from the trials of an earlier tuning', () => {
    const earlier = search(NETWORK, { algorithm: 'BAYESIAN', seed: 'earlier', trials: 15 });
    const lowestOfFive = (finished: readonly FinishedTrial[], seed: string) => {
      const suggestions = suggest({ ...requestAfter(NETWORK, finished), seed, ordinal: 0 }, 5);
      return Math.min(...suggestions.map((values) => NETWORK.objective(values) ?? Infinity));
    };
    const [next, first] = [earlier, []].map((known) => median(SEEDS.map((seed) => lowestOfFive(known, seed))));
    expect(next).toBeLessThan((first ?? 0) / 3);
  });

  it('repeats the best trial once if reports seem to be noisy', () => {
    const finished = search(BRANIN, { algorithm: 'BAYESIAN', seed: 'a', trials: 40, noise: 20 });
    const keys = finished.map(({ values }) => JSON.stringify(values));
    expect(new Set(keys).size).toBe(39);
    const again = keys.findIndex((key, index) => keys.indexOf(key) < index);
    const before = finished.slice(0, again);
    expect(before.find(({ values }) => JSON.stringify(values) === keys[again])?.objective).toBe(lowest(before));
  });

  it('learns from earlier trials that lacked a parameter only if it has a default, which is then their value', () => {
    const finished = search(BRANIN, { algorithm: 'BAYESIAN', seed: 'a', trials: 12 });
    const further = { id: 'z', space: { kind: 'INTEGER', min: 1, max: 9 }, scale: 'LINEAR', children: [] } as const;
    const suggestAfter = (parameter: Parameter, trials: readonly FinishedTrial[]) =>
      suggest({ ...requestAfter(BRANIN, trials), parameters: [X, Y, parameter], ordinal: 0 }, 2);
    const filled = finished.map(({ values, objective }) => ({ values: { ...values, z: 3 }, objective }));
    expect(suggestAfter({ ...further, default: 3 }, finished)).toEqual(suggestAfter(further, filled));
    expect(suggestAfter({ ...further, default: 3 }, finished)).not.toEqual(
      suggestAfter({ ...further, default: 5 }, finished),
    );
    expect(suggestAfter(further, finished)).toEqual(suggestAfter(further, []));
  });

  it('ignores earlier trials with values that its space does not have', () => {
    const finished = search(BRANIN, { algorithm: 'BAYESIAN', seed: 'a', trials: 12 });
    const others: Values[] = [
      { x: 1 },
      { x: 1, y: 1, z: 1 },
      { x: 1, y: 16 },
      { x: 'a', y: 1 },
      { x: Number.NaN, y: 1 },
    ];
    const foreign = others.map((values) => ({ values, objective: -1e6 }));
    const request = requestAfter(BRANIN, finished);
    expect(suggest({ ...request, finished: [...foreign, ...finished] }, 1)).toEqual(suggest(request, 1));
  });

  it('takes 10,000 finished and 100 pending trials of 10 parameters into account', () => {
    const parameters = Array.from({ length: 10 }, (_, index): Parameter => {
      return { id: `p${index}`, space: { kind: 'DOUBLE', min: 0, max: 1 }, scale: 'LINEAR', children: [] };
    });
    const objective = ({ p0, p1 }: Values) => (Number(p0) - 0.3) ** 2 + (Number(p1) - 0.6) ** 2;
    const request = { ...requestAfter({ parameters, objective }, []), algorithm: 'RANDOM', ordinal: 0 } as const;
    const drawn = suggest(request, 10_100);
    const finished = drawn.slice(0, 10_000).map((values) => ({ values, objective: objective(values) }));
    const all: SuggestRequest = {
      ...request,
      algorithm: 'BAYESIAN',
      finished,
      pending: drawn.slice(10_000),
      ordinal: 10_100,
    };
    const [values = {}] = suggest(all, 1);
    expect(objective(values)).toBeLessThan(median(finished.map((trial) => trial.objective)) / 10);
  });

  it('tries each combination of a finite space, and then has no more', () => {
    const layers: Parameter = {
      id: 'layers',
      space: { kind: 'INTEGER', min: 1, max: 8 },
      scale: 'LINEAR',
      children: [],
    };
    const kind: Parameter = {
      id: 'kind',
      space: { kind: 'CATEGORICAL', values: ['relu', 'tanh', 'elu'] },
      scale: 'NONE',
      children: [],
    };
    const objective = (values: Values) => Math.abs(Number(values.layers) - 6) + (values.kind === 'elu' ? 0 : 1);
    const problem = { parameters: [layers, kind], objective };
    const trials = search(problem, { algorithm: 'BAYESIAN', seed: 'a', trials: 24 });
    expect(new Set(trials.map(({ values }) => JSON.stringify(values))).size).toBe(24);
    expect(lowest(trials.slice(0, 12))).toBe(0);
    expect(suggest(requestAfter(problem, trials), 2)).toEqual([]);
    expect(suggest(requestAfter(problem, trials.slice(1)), 2)).toEqual([trials[0]?.values]);
  });
});

describe('the first trials', () => {
  const algorithms = ['BAYESIAN', 'RANDOM', 'GRID'] as const;

  it.each(algorithms)('have exactly the values that a user gives, before those of a %s search', (algorithm) => {
    const request = { ...requestAfter(NETWORK, []), algorithm };
    const given = { rate: 0.0013, units: 7, optimizer: 'sgd', momentum: 0.9 };
    const [first, second, ...others] = suggest({ ...request, start: [given, { rate: 0.3 }] }, 4);
    expect([first, second?.rate, others.length]).toEqual([given, 0.3, 2]);
    expect(areValid(NETWORK.parameters, second ?? {})).toBe(true);
    expect(suggest({ ...request, start: [given, { rate: 0.3 }] }, 1)).toEqual([given]);
    expect(others).toEqual(suggest({ ...request, pending: [given, second ?? {}], ordinal: 2 }, 2));
  });

  it('have the defaults of parameters that are not given', () => {
    const parameters = [{ ...X, default: 2.3 }, Y];
    const [values] = suggest({ ...requestAfter(BRANIN, []), parameters, start: [{ y: 1.1 }] }, 1);
    expect(values).toEqual({ x: 2.3, y: 1.1 });
  });
});

function distance(one: Values, other: Values): number {
  return Math.max(...['x', 'y'].map((id) => Math.abs(Number(one[id]) - Number(other[id])) / 15));
}
