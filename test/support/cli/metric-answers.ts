import type { SeriesIndex, SeriesPage } from '#shared/protocol/metric-series.ts';

const AT = Date.UTC(2026, 10, 21, 6, 44, 49);

/** A program's metrics, one of which is NaN by now, and a system series of two replicas. */
export const SERIES_INDEX: SeriesIndex = {
  jobId: 'digits',
  revision: 'r1',
  series: [
    {
      ...{ name: 'loss', kind: 'PROGRAM', replica: 'master-0', pointCount: 3, unit: null },
      ...{ last: { attempt: 2, step: 3, at: AT, value: 'NaN' }, min: 0.123_456_7, max: 2.5 },
    },
    {
      ...{ name: '=accuracy\u001b[31m', kind: 'PROGRAM', replica: 'master-0', pointCount: 1, unit: null },
      ...{ last: { attempt: 2, step: 1, at: AT, value: 0.5 }, min: 0.5, max: 0.5 },
    },
    {
      ...{ name: 'memory/used', kind: 'SYSTEM', replica: 'worker-1', pointCount: 9, unit: 'bytes' },
      ...{ last: { attempt: 2, step: null, at: AT, value: 8_589_934_592 }, min: 1_048_576, max: 8_589_934_592 },
    },
  ],
  omitted: { series: 9_000, points: 123, objects: 0 },
};

export function pointsOf(names: readonly string[]): SeriesPage {
  const curves = [
    { attempt: 1, steps: [1, 2], times: [AT, AT + 1_000], values: [2.5, 0.123_456_7] },
    { attempt: 2, steps: [3], times: [AT + 60_000], values: ['NaN' as const] },
  ];
  const series = curves.map((curve) => ({
    ...{ name: 'loss', kind: 'PROGRAM' as const, replica: 'master-0' },
    ...{ ...curve, pointCount: curve.values.length },
  }));
  return { jobId: 'digits', revision: 'r1', series: names.includes('loss') ? series : [] };
}
