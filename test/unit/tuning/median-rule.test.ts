import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBehindBar, medianBarOf, usesMedianRule } from '#shared/tuning/stopping/median-rule.ts';
import { CURVE_POINTS_MAX, type Curve } from '#shared/tuning/trial.ts';
import type { MedianBar } from '#shared/tuning/tuning.ts';
import { curveOf, MEDIAN, studyOf } from '../../support/tuning/example-curve.ts';

const STUDY = studyOf(MEDIAN);

/** Five completed trials of ten steps that stand at a level each. */
const LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5].map((level) => curveOf(Array.from({ length: 10 }, () => level)));

function barOf(curves: readonly Curve[], study = STUDY): MedianBar {
  const bar = medianBarOf(curves, study);
  if (bar === null) {
    throw new Error('These curves have no bar.');
  }
  return bar;
}

const losses = (length: number) =>
  fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: length, maxLength: length });

/** The rule as the paper words it, on values at the steps 1 to n: behind if more than 0. */
function distanceByDefinition(running: readonly number[], completed: readonly (readonly number[])[]): number {
  const means = completed.map((values) => values.slice(0, running.length).reduce((a, b) => a + b, 0) / running.length);
  const sorted = means.sort((a, b) => a - b);
  const median = ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
  return Math.min(...running) - median;
}

describe('the bar of the median rule', () => {
  it('is the median of the running means of the completed trials', () => {
    const falling = [1, 2, 3, 4, 5].map((start) => curveOf([start, start - 1, start - 2]));
    expect(medianBarOf(falling, STUDY)).toEqual({ steps: [1, 2, 3], medians: [3, 2.5, 2], completedCount: 5 });
  });

  it('does not exist before five trials have completed with the objective', () => {
    expect(medianBarOf(LEVELS.slice(1), STUDY)).toBeNull();
    expect(medianBarOf([...LEVELS.slice(1), curveOf(['NaN', 'NaN'])], STUDY)).toBeNull();
    expect(medianBarOf([...LEVELS.slice(1), curveOf([])], STUDY)).toBeNull();
  });

  it('ends where fewer than five trials have come', () => {
    const longer = [...LEVELS.slice(1), curveOf([0.1, 0.1, 0.1])];
    expect(barOf(longer).steps).toEqual([1, 2, 3]);
  });

  it('is of what is minimized: the negative of a metric to maximize', () => {
    expect(barOf(LEVELS, studyOf(MEDIAN, 'MAXIMIZE')).medians[0]).toBeCloseTo(-0.3);
  });

  it('is finite for any finite values, since a record cannot hold others', () => {
    const extreme = Array.from({ length: 5 }, () => curveOf([Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_VALUE]));
    expect(barOf(extreme).medians.every(Number.isFinite)).toBe(true);
  });

  it('is by running time if the rule uses it', () => {
    const bar = barOf(LEVELS, studyOf({ rule: 'MEDIAN', usesElapsedTime: true }));
    expect(bar.steps.slice(0, 3)).toEqual([1_000, 2_000, 3_000]);
  });

  it('is the same for a curve that was thinned out in its older part', () => {
    const full = curveOf(Array.from({ length: 60 }, (_, index) => 60 - index));
    const thinned = { ...full, points: full.points.filter(({ step }) => step % 2 === 0 || step > 30) };
    const plain = barOf(Array.from({ length: 5 }, () => full)).medians.at(-1) ?? 0;
    expect(barOf(Array.from({ length: 5 }, () => thinned)).medians.at(-1)).toBeCloseTo(plain, -0.3);
  });

  it('has at most as many steps as a curve, among them the first and the last', () => {
    const curves = Array.from({ length: 40 }, (_, trial) =>
      curveOf([], {
        points: Array.from({ length: 90 }, (__, index) => {
          const step = index * 40 + trial;
          return { step, elapsedMs: step, values: { loss: index } };
        }),
      }),
    );
    const { steps } = barOf(curves);
    expect(steps.length).toBeLessThanOrEqual(CURVE_POINTS_MAX);
    expect([steps[0], steps.at(-1)]).toEqual([4, 89 * 40 + 35]);
  });
});

describe('a running trial', () => {
  const longestStep = 10;

  function isBehind(values: readonly (number | 'NaN')[], study = STUDY): boolean {
    return isBehindBar(curveOf(values), barOf(LEVELS, study), { study, longestStep });
  }

  it('is stopped if its best value is worse than the bar, and not if it once was better', () => {
    expect(isBehind([0.9, 0.31])).toBe(true);
    expect(isBehind([0.29, 0.9, 0.9])).toBe(false);
    expect(isBehind([0.3])).toBe(false);
  });

  it('is stopped if it has reported nothing but NaN', () => {
    expect(isBehind(['NaN', 'NaN'])).toBe(true);
    expect(isBehind(['NaN', 0.1])).toBe(false);
  });

  it('is compared from a tenth of the longest completed curve on', () => {
    const running = curveOf([0.9, 0.9, 0.9]);
    const bar = barOf(LEVELS);
    expect(isBehindBar(running, bar, { study: STUDY, longestStep: 31 })).toBe(false);
    expect(isBehindBar(running, bar, { study: STUDY, longestStep: 30 })).toBe(true);
  });

  it('is not stopped at the length of the completed trials, where nothing is saved', () => {
    const values = Array.from({ length: 10 }, () => 0.9);
    expect(isBehind(values)).toBe(false);
    expect(isBehind(values.slice(1))).toBe(true);
  });

  it('is not compared beyond the steps that enough trials have reached', () => {
    const bar = barOf([...LEVELS.slice(1), curveOf([0.1, 0.1])]);
    expect(isBehindBar(curveOf([0.9, 0.9]), bar, { study: STUDY, longestStep })).toBe(true);
    expect(isBehindBar(curveOf([0.9, 0.9, 0.9]), bar, { study: STUDY, longestStep })).toBe(false);
  });

  it('is compared by running time if the rule uses it, whatever its steps', () => {
    const study = studyOf({ rule: 'DECAY_CURVE', usesElapsedTime: true });
    const slow = curveOf([], { points: [{ step: 900, elapsedMs: 2_000, values: { loss: 0.9 } }] });
    expect(isBehindBar(slow, barOf(LEVELS, study), { study, longestStep })).toBe(true);
    const early = { ...slow, points: slow.points.map((point) => ({ ...point, elapsedMs: 999 })) };
    expect(isBehindBar(early, barOf(LEVELS, study), { study, longestStep })).toBe(false);
  });

  it('has the minimum of steps and measurements that a convex rule names', () => {
    const convex = {
      rule: 'CONVEX',
      usesElapsedTime: false,
      stepsMax: null,
      learningRateParameterId: null,
      updatesAllStoppedTrials: false,
    } as const;
    expect(isBehind([0.9, 0.9], studyOf({ ...convex, stepsMin: 3, measurementsMin: null }))).toBe(false);
    expect(isBehind([0.9, 0.9], studyOf({ ...convex, stepsMin: null, measurementsMin: 3 }))).toBe(false);
    expect(isBehind([0.9, 0.9, 0.9], studyOf({ ...convex, stepsMin: 3, measurementsMin: 3 }))).toBe(true);
  });
});

describe('for any curves', () => {
  it('the rule is that of the paper', () => {
    const cases = fc
      .tuple(fc.integer({ min: 5, max: 12 }), fc.integer({ min: 2, max: 9 }))
      .chain(([trials, step]) =>
        fc.record({ completed: fc.array(losses(10), { minLength: trials, maxLength: trials }), running: losses(step) }),
      );
    fc.assert(
      fc.property(cases, ({ completed, running }) => {
        const distance = distanceByDefinition(running, completed);
        // Not decided by the rounding of a sum.
        fc.pre(Math.abs(distance) > 1e-9);
        const bar = barOf(completed.map((values) => curveOf(values)));
        const isBehind = isBehindBar(curveOf(running), bar, { study: STUDY, longestStep: 10 });
        expect(isBehind).toBe(distance > 0);
      }),
    );
  });

  it('a bar is finite, and can be stored as JSON', () => {
    const value = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom('NaN', 'Infinity', '-Infinity'),
    );
    const curves = fc.array(fc.array(value, { maxLength: 12 }), { minLength: 5, maxLength: 9 });
    fc.assert(
      fc.property(curves, (drawn) => {
        const bar = medianBarOf(
          drawn.map((values) => curveOf(values)),
          STUDY,
        );
        expect(bar?.medians.every(Number.isFinite) ?? true).toBe(true);
      }),
    );
  });
});

it('every rule but ASHA runs as the median rule', () => {
  expect(usesMedianRule(studyOf({ rule: 'AUTOMATIC' }))).toBe(true);
  expect(usesMedianRule(studyOf({ rule: 'ASHA' }))).toBe(false);
  expect(usesMedianRule(studyOf(null))).toBe(false);
});
