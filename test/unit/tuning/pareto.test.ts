import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costsOf, dominates, paretoFrontOf } from '#shared/tuning/pareto.ts';

const costs = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 3, maxLength: 3 });
const items = fc.array(
  costs.map((each) => ({ costs: each })),
  { maxLength: 20 },
);

describe('the Pareto front', () => {
  it('minimizes and maximizes', () => {
    const goals = ['MAXIMIZE', 'MINIMIZE'] as const;
    const trials = [
      [0.9, 12],
      [0.8, 3],
      [0.8, 5],
      [0.7, 3],
    ].map((objectives) => ({ objectives, costs: costsOf(objectives, goals) }));
    expect(paretoFrontOf(trials).map(({ objectives }) => objectives)).toEqual([
      [0.9, 12],
      [0.8, 3],
    ]);
  });

  it('has exactly the items that no other one dominates, in their order', () => {
    fc.assert(
      fc.property(items, (given) => {
        const expected = given.filter((one) => !given.some((other) => dominates(other.costs, one.costs)));
        expect(paretoFrontOf(given)).toEqual(expected);
      }),
    );
  });

  it('keeps all of several equal items', () => {
    expect(paretoFrontOf([{ costs: [1, 2] }, { costs: [1, 2] }])).toHaveLength(2);
  });
});
