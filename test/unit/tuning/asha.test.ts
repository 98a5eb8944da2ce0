import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RUNG_VALUES_MAX, RUNGS_MAX, recordRung, rungStepsOf, rungsCrossed } from '#shared/tuning/stopping/asha.ts';
import type { Rung } from '#shared/tuning/tuning.ts';
import { curveOf, studyOf } from '../../support/tuning/example-curve.ts';

const STUDY = studyOf({ rule: 'ASHA' });

/** Whether each trial is kept that reaches the rung with these values, in this order. */
function keptOf(values: readonly number[]): readonly boolean[] {
  let rungs: readonly Rung[] = [];
  return values.map((value) => {
    const recorded = recordRung(rungs, { step: 3, value });
    rungs = recorded.rungs;
    return recorded.isKept;
  });
}

describe('the rungs of ASHA', () => {
  it('are at a ninth and a third of the length', () => {
    expect(rungStepsOf(27)).toEqual([3, 9]);
    expect(rungStepsOf(100)).toEqual([12, 34]);
    expect(rungStepsOf(0.5)).toEqual([]);
    expect(rungStepsOf(null)).toEqual([]);
  });

  it('are before the end, and apart, whatever the length', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(50), fc.double({ min: 0, noNaN: true })), (length) => {
        const steps = rungStepsOf(length);
        expect(new Set(steps).size).toBe(steps.length);
        expect(steps.every((step) => step > 0 && step < length)).toBe(true);
      }),
    );
  });

  it('stay where they are when a length is measured that is about the one that was announced', () => {
    const known = [3, 9].map((step) => ({ step, reachedCount: 1, best: [0] }));
    expect(rungStepsOf(30, known)).toEqual([3, 9]);
    expect(rungStepsOf(200, known)).toEqual([23, 67]);
  });

  it('are those that are known once there are as many as are kept, whatever lengths are announced', () => {
    const known = [3, 9, 23, 67].map((step) => ({ step, reachedCount: 1, best: [0] }));
    expect(known.length).toBe(RUNGS_MAX);
    expect(rungStepsOf(1e6, known)).toEqual([]);
    expect(rungStepsOf(70, known)).toEqual([9, 23]);
  });
});

describe('a trial crosses a rung', () => {
  const rungSteps = [3, 9];

  it('with its best value until then', () => {
    const after = curveOf([0.5, 0.2, 0.4, 0.1]);
    expect(rungsCrossed(curveOf([0.5, 0.2]), after, { study: STUDY, rungSteps })).toEqual([{ step: 3, value: 0.2 }]);
    expect(rungsCrossed(after, after, { study: STUDY, rungSteps })).toEqual([]);
  });

  it('at its first point beyond, if it does not report at the rung itself', () => {
    const points = [2, 5, 12].map((step) => ({ step, elapsedMs: step, values: { loss: 1 / step } }));
    expect(rungsCrossed(undefined, curveOf([], { points }), { study: STUDY, rungSteps })).toEqual([
      { step: 3, value: 1 / 5 },
      { step: 9, value: 1 / 12 },
    ]);
  });

  it('as the worst of all if it has reported nothing but NaN', () => {
    const [crossed] = rungsCrossed(undefined, curveOf(['NaN', 'NaN', 'NaN']), { study: STUDY, rungSteps });
    expect(JSON.parse(JSON.stringify(crossed))).toEqual({ step: 3, value: Number.MAX_VALUE });
  });

  it('with the negative of a metric to maximize', () => {
    const study = studyOf({ rule: 'ASHA' }, 'MAXIMIZE');
    expect(rungsCrossed(undefined, curveOf([0.5, 0.9, 0.7]), { study, rungSteps })).toEqual([{ step: 3, value: -0.9 }]);
  });
});

describe('a trial at a rung', () => {
  it('is kept if it is among the best third, and if there are not three yet', () => {
    expect(keptOf([5, 6, 4, 7, 3, 8, 5.5, 4])).toEqual([true, true, true, false, true, false, false, true]);
  });

  it('is kept exactly if fewer than a third of those before are better', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 200 }), (values) => {
        const kept = keptOf(values);
        values.forEach((value, index) => {
          const better = values.slice(0, index).filter((one) => one < value).length;
          expect(kept[index]).toBe(index < 2 || better <= Math.floor(index / 3));
        });
      }),
    );
  });

  it('is compared with the best 250 in a rung of any size', () => {
    const best = Array.from({ length: RUNG_VALUES_MAX }, (_, index) => index);
    const full = [{ step: 3, reachedCount: 9_000, best }];
    const bad = recordRung(full, { step: 3, value: 1_000 });
    const good = recordRung(full, { step: 3, value: 1 });
    expect([bad.isKept, good.isKept]).toEqual([false, true]);
    expect(good.rungs).toMatchObject([{ reachedCount: 9_001, best: { length: RUNG_VALUES_MAX } }]);
  });

  it('is kept at a step that would be one rung too many', () => {
    const rungs = Array.from({ length: RUNGS_MAX }, (_, step) => ({ step, reachedCount: 9, best: [0] }));
    expect(recordRung(rungs, { step: 99, value: 5 })).toEqual({ rungs, isKept: true });
  });
});
