import { describe, expect, it } from 'vitest';
import type { Parameter } from '#shared/domain/study.ts';
import { gridSize, gridValues } from '#shared/tuning/optimizer/grid.ts';
import { type SuggestRequest, suggest } from '#shared/tuning/optimizer/suggest.ts';

const MOMENTUM: Parameter = {
  id: 'momentum',
  space: { kind: 'DISCRETE', values: [0, 0.9] },
  scale: 'NONE',
  children: [],
};
const PARAMETERS: readonly Parameter[] = [
  {
    id: 'optimizer',
    space: { kind: 'CATEGORICAL', values: ['adam', 'sgd'] },
    scale: 'NONE',
    children: [{ parentValues: ['sgd'], parameter: MOMENTUM }],
  },
  { id: 'layers', space: { kind: 'INTEGER', min: 1, max: 2 }, scale: 'LINEAR', children: [] },
];

const ALL = [
  { optimizer: 'adam', layers: 1 },
  { optimizer: 'adam', layers: 2 },
  { optimizer: 'sgd', momentum: 0, layers: 1 },
  { optimizer: 'sgd', momentum: 0, layers: 2 },
  { optimizer: 'sgd', momentum: 0.9, layers: 1 },
  { optimizer: 'sgd', momentum: 0.9, layers: 2 },
];

const REQUEST: SuggestRequest = {
  parameters: PARAMETERS,
  goal: 'MINIMIZE',
  algorithm: 'GRID',
  finished: [],
  pending: [],
  ordinal: 0,
  seed: 'tuning-1',
};

describe('a grid', () => {
  it('counts combinations of active values only', () => {
    expect(gridSize(PARAMETERS)).toBe(6);
    expect(Array.from({ length: 6 }, (_, index) => gridValues(PARAMETERS, index))).toEqual(ALL);
  });

  it('is unlimited if a parameter is continuous', () => {
    const rate: Parameter = { id: 'rate', space: { kind: 'DOUBLE', min: 0, max: 1 }, scale: 'LINEAR', children: [] };
    expect(gridSize([...PARAMETERS, rate])).toBe(Infinity);
  });

  it('is counted without being listed', () => {
    const seed: Parameter = { id: 'seed', space: { kind: 'INTEGER', min: 1, max: 1e9 }, scale: 'LINEAR', children: [] };
    expect(gridSize([seed, MOMENTUM])).toBe(2e9);
    expect(gridValues([seed, MOMENTUM], 2e9 - 1)).toEqual({ seed: 1e9, momentum: 0.9 });
  });

  it('is suggested in order, and ends', () => {
    expect(suggest(REQUEST, 4)).toEqual(ALL.slice(0, 4));
    expect(suggest({ ...REQUEST, pending: ALL.slice(0, 4), ordinal: 4 }, 4)).toEqual(ALL.slice(4));
    const finished = ALL.map((values) => ({ values, objective: 1 }));
    expect(suggest({ ...REQUEST, finished, ordinal: 6 }, 4)).toEqual([]);
  });

  it('goes on after the combinations of an earlier tuning, and returns to those that were lost', () => {
    const finished = ALL.slice(0, 3).map((values) => ({ values, objective: null }));
    expect(suggest({ ...REQUEST, finished }, 1)).toEqual([ALL[3]]);
    expect(suggest({ ...REQUEST, finished: finished.slice(1), ordinal: 3 }, 1)).toEqual([ALL[0]]);
  });
});
