import { type SeriesKind, type SeriesPage, type SeriesPoints, toSeriesValue } from '#shared/protocol/metric-series.ts';
import type { SeriesPart, SeriesParts } from '#shared/views/metrics/list-parts.ts';
import { type MetricPorts, mapParallel, selectReadable } from '#shared/views/metrics/load-parts.ts';
import type { PartCache } from '#shared/views/metrics/part-cache.ts';
import { joinPoints, type Points, pointsBetween, thinPoints } from '#shared/views/metrics/thin-points.ts';

export type SeriesQuery = {
  readonly kind: SeriesKind;
  readonly names: readonly string[];
  /** The replica that is read; all replicas if undefined. */
  readonly replica: string | undefined;
  /** Milliseconds since the Unix epoch, both inclusive. */
  readonly from: number;
  readonly to: number;
  /** The limit for each series of a replica, over all of its attempts. */
  readonly pointsMax: number;
};

/** At most so many times the points that are answered are held while the parts are read. */
const HELD_FACTOR = 16;
const POINTS_PER_ATTEMPT_MIN = 50;
/** One answer: some 10 MB of JSON. */
const SERIES_COUNT_MAX = 500;

/** Reads the points of some series of a job, thinned out. */
export async function readSeriesPage(
  { objects }: MetricPorts,
  cache: PartCache,
  request: { readonly jobId: string; readonly listed: SeriesParts; readonly query: SeriesQuery },
): Promise<SeriesPage> {
  const { jobId, listed, query } = request;
  const wanted = listed.parts.filter(
    ({ kind, replica }) => kind === query.kind && (query.replica === undefined || replica === query.replica),
  );
  const summarized = selectReadable(wanted, (part) => cache.hasSummary(part));
  const { counts, containing } = await countPoints({ objects }, cache, { parts: summarized, query });
  const parts = selectReadable(containing, (part) => cache.hasContent(part));
  const groups = new Map<
    string,
    { readonly part: SeriesPart; readonly name: string; readonly pieces: Points[]; count: number }
  >();
  const contents = await mapParallel(parts, async (part) => {
    const { columns } = await cache.read(objects, part);
    return query.names.flatMap((name) => {
      const points = pointsBetween(joinPoints(columns.get(name) ?? []), query.from, query.to);
      const share = (query.pointsMax * HELD_FACTOR) / (counts.get(`${part.replica} ${name}`) ?? 1);
      const held = share >= 1 ? points : thinPoints(points, Math.ceil(points.values.length * share));
      return points.values.length === 0 ? [] : [{ name, held, count: points.values.length }];
    });
  });
  for (const [index, found] of contents.entries()) {
    const part = parts[index] as SeriesPart;
    for (const { name, held, count } of found) {
      const key = `${part.replica} ${part.attempt} ${name}`;
      const group = groups.get(key) ?? { part, name, pieces: [], count: 0 };
      group.pieces.push(held);
      group.count += count;
      groups.set(key, group);
    }
  }
  const series = [...groups.values()].map(({ part, name, pieces, count }) => {
    const share = count / (counts.get(`${part.replica} ${name}`) ?? count);
    const countMax = Math.max(POINTS_PER_ATTEMPT_MIN, Math.floor(query.pointsMax * Math.min(1, share)));
    return toSeriesPoints(part, name, {
      points: thinPoints(joinPoints(pieces), Math.min(countMax, query.pointsMax)),
      count,
    });
  });
  return { jobId, revision: listed.revision, series: series.sort(compareSeries(query)).slice(0, SERIES_COUNT_MAX) };
}

/** Counts the points of each series of each replica, over all attempts and all times, and finds the parts with them. */
async function countPoints(
  { objects }: MetricPorts,
  cache: PartCache,
  { parts, query }: { readonly parts: readonly SeriesPart[]; readonly query: SeriesQuery },
): Promise<{ readonly counts: ReadonlyMap<string, number>; readonly containing: readonly SeriesPart[] }> {
  const names = new Set(query.names);
  const summaries = await mapParallel(parts, (part) => cache.summarize(objects, part));
  const counts = new Map<string, number>();
  for (const [index, { series }] of summaries.entries()) {
    for (const { name, pointCount } of series) {
      if (names.has(name)) {
        const key = `${parts[index]?.replica} ${name}`;
        counts.set(key, (counts.get(key) ?? 0) + pointCount);
      }
    }
  }
  const containing = parts.filter((_, index) => summaries[index]?.series.some(({ name }) => names.has(name)));
  return { counts, containing };
}

function toSeriesPoints(
  { kind, replica, attempt }: SeriesPart,
  name: string,
  { points, count }: { readonly points: Points; readonly count: number },
): SeriesPoints {
  return {
    name,
    kind,
    replica,
    attempt,
    steps: points.steps === null ? null : [...points.steps],
    times: [...points.times],
    values: Array.from(points.values, toSeriesValue),
    pointCount: count,
  };
}

function compareSeries({ names }: SeriesQuery) {
  return (a: SeriesPoints, b: SeriesPoints) =>
    a.attempt - b.attempt ||
    names.indexOf(a.name) - names.indexOf(b.name) ||
    a.replica.localeCompare(b.replica, 'en', { numeric: true });
}
