import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appendMeasurements, type MeasurementReport } from '#shared/tuning/curve.ts';
import { CURVE_POINTS_MAX, type Curve, type Measurement } from '#shared/tuning/trial.ts';
import { curveOf } from '../../support/tuning/example-curve.ts';

function report(measurements: readonly Measurement[], change: Partial<MeasurementReport> = {}): MeasurementReport {
  return { tuningId: 'digits', ordinal: 1, attempt: 1, ranMs: 0, measurements, ...change };
}

function at(step: number, loss: number, elapsedMs = step * 1_000): Measurement {
  return { step, elapsedMs, values: { loss } };
}

const stepsOf = (curve: Curve) => curve.points.map(({ step }) => step);

/** Reports of one attempt, in order, each of a few more steps. */
const reports = fc.array(
  fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: -2_000, max: 2_000 })), {
    maxLength: 50,
    size: 'max',
  }),
  { maxLength: 12, size: 'max' },
);

function toReports(drawn: readonly (readonly (readonly [number, number])[])[]): readonly MeasurementReport[] {
  let step = 0;
  return drawn.map((steps) =>
    report(
      steps.map(([gap, loss]) => {
        step += gap;
        return at(step, loss);
      }),
    ),
  );
}

function append(all: readonly MeasurementReport[]): Curve | undefined {
  return all.reduce<Curve | undefined>(appendMeasurements, undefined);
}

describe('the curve of a trial', () => {
  it('begins with the first report and grows with each further one', () => {
    const first = appendMeasurements(undefined, report([at(1, 0.9)]));
    expect(appendMeasurements(first, report([at(2, 0.8), at(3, 0.7)]))).toEqual(curveOf([0.9, 0.8, 0.7]));
  });

  it('does not change with a report that it has, and is the same object', () => {
    const curve = curveOf([0.9, 0.8, 0.7]);
    expect(appendMeasurements(curve, report([at(2, 0.8), at(3, 0.7)]))).toBe(curve);
    expect(appendMeasurements(curve, report([]))).toBe(curve);
  });

  it('merges the metrics of one step, which may arrive in different reports', () => {
    const first = appendMeasurements(undefined, report([at(1, 0.9)]));
    const merged = appendMeasurements(first, report([{ step: 1, elapsedMs: 1_500, values: { accuracy: 0.5 } }]));
    expect(merged.points).toEqual([{ step: 1, elapsedMs: 1_500, values: { loss: 0.9, accuracy: 0.5 } }]);
  });

  it('is sorted by step when a report is late', () => {
    const late = appendMeasurements(curveOf([0.9], { points: [at(10, 0.1)] }), report([at(5, 0.5)]));
    expect(stepsOf(late)).toEqual([5, 10]);
  });

  it('is replaced by a later attempt from its first step on, whose time continues that of the attempts before', () => {
    const resumed = appendMeasurements(
      curveOf([0.9, 0.8, 0.7, 0.6]),
      report([at(3, 0.75, 400)], { attempt: 2, ranMs: 9_000 }),
    );
    expect(resumed).toEqual({
      ...curveOf([]),
      attempt: 2,
      points: [at(1, 0.9), at(2, 0.8), at(3, 0.75, 9_400)],
    });
  });

  it('ignores what an earlier attempt reports after a later one', () => {
    const curve = curveOf([0.9], { attempt: 2 });
    expect(appendMeasurements(curve, report([at(2, 0.1)], { attempt: 1 }))).toBe(curve);
  });

  it('keeps values that are not finite', () => {
    const curve = appendMeasurements(undefined, report([{ step: 1, elapsedMs: 1, values: { loss: 'NaN' } }]));
    expect(curve.points[0]?.values).toEqual({ loss: 'NaN' });
  });
});

describe('for any reports of one attempt', () => {
  it('the curve is bounded, by increasing step, and all of its points were reported', () => {
    fc.assert(
      fc.property(reports, (drawn) => {
        const all = toReports(drawn);
        const reported = new Map(all.flatMap(({ measurements }) => measurements).map((one) => [one.step, one]));
        const { points } = append(all) ?? curveOf([]);
        expect(points.length).toBeLessThanOrEqual(CURVE_POINTS_MAX);
        expect(points.length).toBeGreaterThanOrEqual(Math.min(reported.size, CURVE_POINTS_MAX / 2));
        expect(points).toEqual([...points].sort((a, b) => a.step - b.step));
        expect(points).toEqual(points.map(({ step }) => reported.get(step)));
      }),
    );
  });

  it('the last, the lowest and the highest value are in the curve', () => {
    fc.assert(
      fc.property(reports, (drawn) => {
        const all = toReports(drawn);
        const measurements = all.flatMap((one) => one.measurements);
        fc.pre(measurements.length > 0);
        const losses = measurements.map(({ values }) => Number(values.loss));
        const kept = append(all)?.points ?? [];
        expect(kept.at(-1)).toEqual(measurements.at(-1));
        expect(kept.map(({ values }) => values.loss)).toEqual(
          expect.arrayContaining([Math.min(...losses), Math.max(...losses)]),
        );
      }),
    );
  });

  it('a report that is delivered twice leaves the last and best points as they are', () => {
    fc.assert(
      fc.property(reports, (drawn) => {
        const all = toReports(drawn);
        const once = append(all);
        const twice = append(all.flatMap((one) => [one, one]));
        expect(twice?.points.at(-1)).toEqual(once?.points.at(-1));
        if ((once?.points.length ?? 0) === new Set(all.flatMap(({ measurements }) => measurements)).size) {
          expect(twice).toEqual(once);
        }
      }),
    );
  });

  it('a curve with more extremes than points is bounded, too', () => {
    const points = Array.from({ length: 400 }, (_, step) => ({
      step,
      elapsedMs: step,
      values: { [`metric-${step}`]: 1 },
    }));
    expect(appendMeasurements(undefined, report(points)).points.length).toBeLessThanOrEqual(CURVE_POINTS_MAX);
  });
});
