import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Parameter } from '#shared/domain/study.ts';
import { chooseBest } from '#shared/tuning/optimizer/choose-best.ts';
import { gridSize } from '#shared/tuning/optimizer/grid.ts';
import { type SuggestRequest, suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import { anySpaces, areValid, finiteSpaces, oddObjectives, parameterTrees } from './parameter-arbitrary.ts';

const RUNS = { numRuns: 60 };

type Setup = Pick<SuggestRequest, 'parameters' | 'algorithm' | 'goal' | 'seed'>;

const setups = (algorithms: readonly SuggestRequest['algorithm'][]): fc.Arbitrary<Setup> =>
  fc.record({
    parameters: parameterTrees(anySpaces),
    algorithm: fc.constantFrom(...algorithms),
    goal: fc.constantFrom('MAXIMIZE' as const, 'MINIMIZE' as const),
    seed: fc.string(),
  });

/** A tuning whose trials end with the given objectives; the last ones are pending. */
function run(setup: Setup, objectives: readonly (number | null)[], pendingCount: number) {
  const finished: FinishedTrial[] = [];
  for (const [ordinal, objective] of objectives.entries()) {
    const [values] = suggest({ ...setup, finished, pending: [], ordinal }, 1);
    if (values !== undefined) {
      finished.push({ values, objective });
    }
  }
  const ordinal = finished.length;
  return { finished, suggested: suggest({ ...setup, finished, pending: [], ordinal }, pendingCount) };
}

const categories = (id: string, values: readonly string[], scale: Parameter['scale'] = 'NONE'): Parameter => ({
  id,
  scale,
  space: { kind: 'CATEGORICAL', values },
  children: [],
});

/** The second trial with the best values of these reports an outlier: they were repeated once more. */
const OUTLIER_AT_REPETITION: [readonly Parameter[], (number | null)[]] = [
  [
    {
      id: 'p0',
      scale: 'LINEAR',
      space: { kind: 'DISCRETE', values: [-3, 0, 0.001, 0.5, 1, 2, 1e6] },
      children: [
        { parentValues: [-3], parameter: categories('p0-child', ['1', 'd', 'c', 'b'], 'LOG') },
        {
          parentValues: [0],
          parameter: {
            ...categories('p0-child', ['c', 'a']),
            children: [{ parentValues: ['a'], parameter: categories('p0-child-child', ['a', 'd', 'b', '1', 'c']) }],
          },
        },
      ],
    },
  ],
  [
    ...[0, -1e300, -1e300, null, 1e300, 0, 0, null, 5e-324, 1e-323, 1e-323, 1e300, Number.MAX_VALUE],
    ...[0, 1, 0, 0, 0, null, null, null, 0, 0, 0, null, null, 0, null, 0, null, 0],
  ],
];

describe('any search space', () => {
  it('gets valid values of its active parameters, whatever its trials reported', () => {
    const objectives = fc.array(oddObjectives, { maxLength: 14 });
    fc.assert(
      fc.property(
        setups(['BAYESIAN', 'RANDOM', 'GRID']),
        objectives,
        fc.integer({ min: 1, max: 4 }),
        (setup, list, count) => {
          const { finished, suggested } = run(setup, list, count);
          for (const values of [...finished.map((trial) => trial.values), ...suggested]) {
            expect(areValid(setup.parameters, values)).toBe(true);
          }
          expect(suggested.length <= count).toBe(true);
          const triedCount = new Set(finished.map((trial) => JSON.stringify(trial.values))).size;
          expect(suggested.length).toBe(Math.min(count, gridSize(setup.parameters) - triedCount));
        },
      ),
      RUNS,
    );
  });

  it('has a best trial among those with a finite objective, if there is one', () => {
    const objectives = fc.array(oddObjectives, { maxLength: 12 });
    fc.assert(
      fc.property(setups(['RANDOM']), objectives, (setup, list) => {
        const { finished } = run(setup, list, 1);
        const finite = finished.flatMap(({ objective }) => (Number.isFinite(objective) ? [Number(objective)] : []));
        const best = chooseBest({ ...setup, finished });
        const expected = setup.goal === 'MAXIMIZE' ? Math.max(...finite) : Math.min(...finite);
        expect(best === null).toBe(finite.length === 0);
        expect(best === null || finished[best.reported]?.objective === expected).toBe(true);
        expect(best === null || Number.isFinite(finished[best.recommended]?.objective)).toBe(true);
      }),
      RUNS,
    );
  });

  // One trial may repeat the best, to find out whether there is noise.
  it.each(['GRID', 'RANDOM', 'BAYESIAN'] as const)('with few combinations ends when %s has tried all', (algorithm) => {
    const spaces = parameterTrees(finiteSpaces).filter((parameters) => gridSize(parameters) <= 30);
    fc.assert(
      fc.property(spaces, fc.array(oddObjectives, { minLength: 31, maxLength: 31 }), (parameters, objectives) => {
        const size = gridSize(parameters);
        const setup: Setup = { parameters, algorithm, goal: 'MINIMIZE', seed: 'a' };
        const { finished, suggested } = run(setup, objectives.slice(0, size + 1), 1);
        expect(new Set(finished.map(({ values }) => JSON.stringify(values))).size).toBe(size);
        expect(suggested).toEqual([]);
      }),
      { numRuns: algorithm === 'BAYESIAN' ? 20 : 60, examples: [OUTLIER_AT_REPETITION] },
    );
  });
});
