import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { standardize } from '#shared/tuning/optimizer/standardize.ts';

describe('standardized costs', () => {
  it('are finite and keep the order, whatever the costs are', () => {
    const cost = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(1e300, -1e300, 0, 1, 2));
    fc.assert(
      fc.property(fc.array(cost, { minLength: 1, maxLength: 20 }), (costs) => {
        const { targets } = standardize(costs);
        expect(targets.every(Number.isFinite)).toBe(true);
        const order = costs.map((_, index) => index).sort((a, b) => (costs[a] ?? 0) - (costs[b] ?? 0));
        const ordered = order.map((index) => targets[index] ?? 0);
        expect(ordered.every((target, index) => index === 0 || target >= (ordered[index - 1] ?? 0) - 1e-9)).toBe(true);
      }),
    );
  });

  it('differ among the better half although one trial diverged', () => {
    const { targets } = standardize([1, 2, 3, 4, 5, 1e300]);
    expect((targets[1] ?? 0) - (targets[0] ?? 0)).toBeGreaterThan(0.1);
    const { targets: alike } = standardize([1, 2, 3, 4, 5, 1e6]);
    expect((alike[1] ?? 0) - (alike[0] ?? 0)).toBeGreaterThan(0.3);
  });

  it('lead back to costs in the better half', () => {
    const costs = [3, 1, 2, 8, 5];
    const { targets, costOf } = standardize(costs);
    expect(costOf(targets[1] ?? 0)).toBeCloseTo(1, 9);
    expect(costOf(targets[2] ?? 0)).toBeCloseTo(2, 9);
  });
});
