import { type SeriesIndex, toSeriesValue } from '#shared/protocol/metric-series.ts';
import type { SeriesOmission } from '#shared/protocol/series-part.ts';
import type { SeriesPart, SeriesParts } from '#shared/views/metrics/list-parts.ts';
import { type MetricPorts, mapParallel, selectReadable } from '#shared/views/metrics/load-parts.ts';
import type { PartCache, SeriesSummary } from '#shared/views/metrics/part-cache.ts';
import { unitOf } from '#shared/views/metrics/series-unit.ts';

type Entry = SeriesIndex['series'][number];

/** A cluster of a hundred replicas has some thousand system series. */
const SERIES_COUNT_MAX = 5_000;

/** Lists the series of a job with their newest values: those of the program first, then by replica and name. */
export async function readSeriesIndex(
  { objects }: MetricPorts,
  cache: PartCache,
  { jobId, listed }: { readonly jobId: string; readonly listed: SeriesParts },
): Promise<SeriesIndex> {
  const parts = selectReadable(listed.parts, (part) => cache.hasSummary(part));
  const summaries = await mapParallel(parts, (part) => cache.summarize(objects, part));
  const entries = new Map<string, Entry>();
  const omissions = new Map<string, SeriesOmission>();
  let ignoredCount = listed.ignoredCount + listed.parts.length - parts.length;
  let leftOutCount = 0;
  for (const [index, summary] of summaries.entries()) {
    const part = parts[index] as SeriesPart;
    ignoredCount += summary.ignoredCount;
    // The newest line of a boot has the sum of all before it.
    if (summary.omission !== null) {
      omissions.set(`${part.kind} ${part.replica} ${part.attempt} ${part.boot}`, summary.omission);
    }
    for (const series of summary.series) {
      const key = `${part.kind} ${part.replica} ${series.name}`;
      if (entries.has(key) || entries.size < SERIES_COUNT_MAX) {
        entries.set(key, mergeEntry(entries.get(key), part, series));
      } else {
        leftOutCount += 1;
      }
    }
  }
  const omitted = [...omissions.values()];
  return {
    jobId,
    revision: listed.revision,
    series: [...entries.values()].sort(compareEntries),
    omitted: {
      series: leftOutCount + Math.max(0, ...omitted.map(({ series }) => series)),
      points: omitted.reduce((sum, { points }) => sum + points, 0),
      objects: ignoredCount,
    },
  };
}

function mergeEntry(
  known: Entry | undefined,
  part: SeriesPart,
  { name, pointCount, last, min, max }: SeriesSummary,
): Entry {
  return {
    name,
    kind: part.kind,
    replica: part.replica,
    pointCount: (known?.pointCount ?? 0) + pointCount,
    unit: part.kind === 'SYSTEM' ? unitOf(name) : null,
    last: { attempt: part.attempt, step: last.step, at: last.at, value: toSeriesValue(last.value) },
    min: extreme(Math.min, known?.min, min),
    max: extreme(Math.max, known?.max, max),
  };
}

function extreme(choose: (a: number, b: number) => number, a: number | null | undefined, b: number | null) {
  if (a === null || a === undefined) {
    return b;
  }
  return b === null ? a : choose(a, b);
}

function compareEntries(a: Entry, b: Entry): number {
  return (
    a.kind.localeCompare(b.kind) ||
    a.replica.localeCompare(b.replica, 'en', { numeric: true }) ||
    a.name.localeCompare(b.name, 'en', { numeric: true })
  );
}
