import { Hono } from 'hono';
import { createBuiltPageAssets } from '#infra/page/built-page-assets.ts';
import { routePage } from '#shared/api/page-routes.ts';
import { addResponseHeaders } from '#shared/api/response-headers.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { JobFiles } from '#shared/protocol/job-files.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { type ExampleSeries, indexOf } from './example-series.ts';

const PAGE_ENTRIES_MAX = 1_000;
const POINTS_MAX = 1_000;

/** The answers of the API about one job. */
export type FixtureJob = {
  readonly view: JobView;
  readonly series?: readonly ExampleSeries[];
  readonly log?: readonly LogEntry[];
  readonly files?: JobFiles;
  readonly definition?: JobDefinition;
  readonly trials?: readonly TrialView[];
};

/** The page, with an API that answers about these jobs: for sizes and contents that real jobs take too long to make. */
export function createFixtureApi(jobs: ReadonlyMap<string, FixtureJob>): Hono {
  const app = new Hono();
  addResponseHeaders(app);
  routePage(app, createBuiltPageAssets());
  const jobOf = (id: string) => {
    const found = jobs.get(id);
    if (found === undefined) {
      throw new Error(`The fixture has no job ${id}.`);
    }
    return found;
  };
  app.get('/v1/jobs', (context) => context.json({ jobs: [...jobs.values()].map(({ view }) => view) }));
  app.get('/v1/changes', (context) => {
    const isEverything = context.req.query('since') === undefined;
    return context.json({ changes: [], isEverything, marker: '1', pollAfterMs: 500 });
  });
  app.get('/v1/metrics/sparklines', (context) => {
    const wanted = (context.req.queries('series') ?? []).map((text) => text.split(':', 2));
    const sparklines = wanted.map(([jobId = '', name = '']) => {
      const own = (jobOf(jobId).series ?? []).filter((one) => one.name === name);
      const [positions, values] = [own.flatMap(({ steps }) => steps ?? []), own.flatMap((one) => one.values)];
      const kept = positions.flatMap((_, index) => (index % Math.ceil(positions.length / 40) === 0 ? [index] : []));
      const select = <Item>(column: readonly Item[]) => kept.map((index) => column[index]);
      return { jobId, name, positions: select(positions), values: select(values), isFinal: false };
    });
    return context.json({ sparklines });
  });
  app.get('/v1/jobs/:id', (context) => context.json(jobOf(context.req.param('id')).view));
  app.get('/v1/jobs/:id/metrics', (context) => {
    const id = context.req.param('id');
    const series = jobOf(id).series ?? [];
    return context.json({ jobId: id, revision: '1', series: indexOf(series), omitted: { series: 0, points: 0 } });
  });
  app.get('/v1/jobs/:id/metrics/points', (context) => {
    const id = context.req.param('id');
    const names = new Set(context.req.queries('name'));
    const [from, to] = [Number(context.req.query('from') ?? 0), Number(context.req.query('to') ?? Infinity)];
    const replica = context.req.query('replica');
    const series = (jobOf(id).series ?? [])
      .filter((one) => names.has(one.name) && (replica === undefined || one.replica === replica))
      .map((one) => thin(one, { from, to }));
    return context.json({ jobId: id, revision: '1', series });
  });
  app.get('/v1/jobs/:id/logs', (context) => {
    const { cursor, replica } = context.req.query();
    const all = jobOf(context.req.param('id')).log ?? [];
    const log = all.filter((entry) => replica === undefined || entry.replica === replica);
    const start = Number(cursor ?? 0);
    const entries = log.slice(start, start + PAGE_ENTRIES_MAX);
    return context.json({ entries, cursor: String(start + entries.length) });
  });
  app.get('/v1/jobs/:id/files', (context) => context.json(jobOf(context.req.param('id')).files));
  app.get('/v1/jobs/:id/definition', (context) => context.json(jobOf(context.req.param('id')).definition));
  app.get('/v1/jobs/:id/trials', (context) => {
    const { trials = [] } = jobOf(context.req.param('id'));
    const start = Number(context.req.query('pageToken') ?? 0);
    const end = start + Number(context.req.query('pageSize'));
    return context.json({
      trials: trials.slice(start, end),
      ...(end < trials.length && { nextPageToken: String(end) }),
    });
  });
  return app;
}

/** Every n-th point, and the last one; the API itself keeps extremes. */
function thin({ unit: _unit, ...series }: ExampleSeries, { from, to }: { readonly from: number; readonly to: number }) {
  const within = series.times.flatMap((time, index) => (time >= from && time <= to ? [index] : []));
  const stride = Math.ceil(within.length / POINTS_MAX);
  const kept = within.filter((_, place) => place % stride === 0 || place === within.length - 1);
  return {
    ...series,
    steps: series.steps === null ? null : kept.map((index) => series.steps?.[index] ?? 0),
    times: kept.map((index) => series.times[index] ?? 0),
    values: kept.map((index) => series.values[index] ?? 0),
    pointCount: within.length,
  };
}
