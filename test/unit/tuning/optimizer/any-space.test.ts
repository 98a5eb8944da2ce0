import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
      { numRuns: algorithm === 'BAYESIAN' ? 20 : 60 },
    );
  });
});
