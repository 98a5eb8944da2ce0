import { describe, expect, it } from 'vitest';
import { type Curve, indexNear, nearestIndex, shapeCurves, timesWithin } from '#dashboard/charts/shape/shape-curves.ts';
import { smooth } from '#dashboard/charts/shape/smooth.ts';
import { costAt } from '#dashboard/charts/shape/x-axis.ts';

const PLAIN = { axis: 'step', smoothing: 0, isLogarithmic: false } as const;

function curve(steps: readonly number[] | null, values: Curve['points']['values'], times?: readonly number[]): Curve {
  const points = { steps: steps && [...steps], times: [...(times ?? values.map((_, index) => index * 1_000))], values };
  return { label: 'a', color: 0, isDashed: false, points, origin: 0 };
}

describe('curves on one axis', () => {
  it('are columns of equal length: undefined where another curve has a point', () => {
    const { xs, columns } = shapeCurves([curve([1, 2, 3], [10, 20, 30]), curve([2, 4], [7, 8])], PLAIN);
    expect(xs).toEqual([1, 2, 3, 4]);
    expect(columns).toEqual([
      [10, 20, 30, undefined],
      [undefined, 7, undefined, 8],
    ]);
  });

  it('are interrupted and marked where a value is not finite', () => {
    const { columns, marks } = shapeCurves([curve([1, 2, 3], [10, 'NaN', 30])], PLAIN);
    expect(columns).toEqual([[10, null, 30]]);
    expect(marks).toEqual([{ x: 2, curve: 0, value: 'NaN' }]);
  });

  it('leave out values of 0 and below on a logarithmic axis, and say how many', () => {
    const { columns, nonPositiveCount } = shapeCurves([curve([1, 2, 3], [1, 0, -1])], {
      ...PLAIN,
      isLogarithmic: true,
    });
    expect([columns, nonPositiveCount]).toEqual([[[1, null, null]], 2]);
  });

  it('are in order, and have the last value of a step that was reported twice', () => {
    const { xs, columns } = shapeCurves([curve([5, 1, 5], [1, 2, 3])], PLAIN);
    expect([xs, columns]).toEqual([[1, 5], [[2, 3]]]);
  });

  it('count from their own start on an axis of relative time or cost', () => {
    const times = [61_000, 121_000];
    const one: Curve = { ...curve([1, 2], [1, 2], times), origin: 1_000, costAt: (at) => at / 1e6 };
    expect(shapeCurves([one], { ...PLAIN, axis: 'relative' }).xs).toEqual([60_000, 120_000]);
    expect(shapeCurves([one], { ...PLAIN, axis: 'wall' }).xs).toEqual(times);
    expect(shapeCurves([one], { ...PLAIN, axis: 'cost' }).xs).toEqual([0.061, 0.121]);
  });

  it('are interrupted by a pause that is much longer than usual, on an axis of time', () => {
    const one = curve(null, [1, 2, 3, 4], [0, 10, 20, 1_020]);
    const shaped = shapeCurves([one], { ...PLAIN, axis: 'wall', hasGaps: true });
    expect(shaped.columns).toEqual([[1, 2, 3, null, 4]]);
    expect(shapeCurves([one], { ...PLAIN, axis: 'wall' }).columns).toEqual([[1, 2, 3, 4]]);
  });

  it('find the time range of what is visible, with a neighbor on each side', () => {
    const shaped = shapeCurves([curve([1, 2, 3, 4, 5], [1, 1, 1, 1, 1])], PLAIN);
    expect(timesWithin(shaped, { min: 2.5, max: 3.5 })).toEqual({ from: 1_000, to: 3_000 });
    expect(timesWithin(shaped, { min: 9, max: 10 })).toBeNull();
  });

  it('find the point that is nearest to the pointer', () => {
    expect([nearestIndex([1, undefined, null, 4], 2), nearestIndex([null], 0)]).toEqual([3, null]);
    expect([indexNear([1, 2, 10], 5), indexNear([1, 2, 10], 7), indexNear([], 1), indexNear([3], 9)]).toEqual([
      1, 2, -1, 0,
    ]);
  });
});

describe('smoothing', () => {
  it('is the average of TensorBoard, whose first value is not pulled to zero', () => {
    // last = last * 0.6 + 0.4 * value, divided by 1 - 0.6^n.
    const [first, second, third] = smooth([1, 2, 3], 0.6);
    expect(first).toBeCloseTo(1);
    expect(second).toBeCloseTo((0.4 * 0.6 + 0.4 * 2) / (1 - 0.36));
    expect(third).toBeCloseTo((0.4 * 0.36 + 0.8 * 0.6 + 0.4 * 3) / (1 - 0.216));
  });

  it('keeps interruptions, which have no weight', () => {
    const [first, gap, none, last] = smooth([1, null, undefined, 1], 0.9);
    expect([gap, none]).toEqual([null, undefined]);
    expect(first).toBeCloseTo(1);
    expect(last).toBeCloseTo(1);
  });
});

describe('the cost at a time', () => {
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  const common = { zone: null, provisioningModel: null, cause: null, message: null };
  const price = { perHourUsd: 3_600, billedSeconds: 0, totalUsd: 0, asOf: '' };
  const timeline = [
    {
      ...common,
      attempt: 1,
      phases: [
        { phase: 'QUEUED' as const, startTime: at(0), endTime: at(10) },
        { phase: 'PREPARING' as const, startTime: at(10), endTime: at(20) },
        { phase: 'RUNNING' as const, startTime: at(20), endTime: at(30) },
      ],
    },
    {
      ...common,
      attempt: 2,
      phases: [
        { phase: 'QUEUED' as const, startTime: at(30), endTime: at(40) },
        { phase: 'RUNNING' as const, startTime: at(40), endTime: null },
      ],
    },
  ];

  it('includes earlier attempts, and not the time in a queue', () => {
    const cost = costAt({ timeline, price });
    expect([5, 20, 35, 50].map((seconds) => cost?.(seconds * 1_000))).toEqual([0, 10, 20, 30]);
  });

  it('is unknown without a price', () => {
    expect(costAt({ timeline, price: { ...price, perHourUsd: null } })).toBeNull();
  });
});
