import type { IndexedSeries } from '#dashboard/charts/shape/group-series.ts';
import type { SeriesPoints } from '#shared/protocol/metric-series.ts';

/** A series within one attempt, before it is thinned out. */
export type ExampleSeries = Omit<SeriesPoints, 'pointCount'> & { readonly unit: string | null };

/** A metric that falls with noise, as losses do, from one step to another. */
export function exampleMetric(
  name: string,
  { attempt = 1, from = 0, to = 1_000, start = 0, msPerStep = 500, scale = 1, offset = 0 } = {},
): ExampleSeries {
  const steps = Array.from({ length: to - from }, (_, index) => from + index);
  return {
    name,
    kind: 'PROGRAM',
    replica: 'master-0',
    attempt,
    unit: null,
    steps,
    times: steps.map((_, index) => start + index * msPerStep),
    values: steps.map(
      (step) => offset + scale * (2.3 * Math.exp(-step / 300) + 0.15 + 0.08 * noise(step * 7 + name.length)),
    ),
  };
}

/** A reading of a VM every 10 seconds. */
export function exampleReading(
  name: string,
  { attempt = 1, start = 0, count = 60, unit = 'fraction', level = 0.7, spread = 0.1 } = {},
): ExampleSeries {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return {
    name,
    kind: 'SYSTEM',
    replica: 'master-0',
    attempt,
    unit,
    steps: null,
    times: indexes.map((index) => start + index * 10_000),
    values: indexes.map((index) => level + spread * noise(index * 13 + name.length)),
  };
}

/** From -1 to 1, the same for the same number. */
function noise(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453;
  return 2 * (value - Math.floor(value)) - 1;
}

/** The entry of the index for the newest attempt of each series. */
export function indexOf(series: readonly ExampleSeries[]): readonly IndexedSeries[] {
  const newest = new Map(series.map((one) => [`${one.kind} ${one.replica} ${one.name}`, one]));
  return [...newest.values()].map(({ name, kind, replica, unit, attempt, steps, times, values }) => {
    const numbers = values.filter((value) => typeof value === 'number');
    const last = values.length - 1;
    return {
      ...{ name, kind, replica, unit, pointCount: values.length },
      last: { attempt, step: steps?.[last] ?? null, at: times[last] ?? 0, value: values[last] ?? 0 },
      min: numbers.length === 0 ? null : numbers.reduce((a, b) => Math.min(a, b)),
      max: numbers.length === 0 ? null : numbers.reduce((a, b) => Math.max(a, b)),
    };
  });
}
