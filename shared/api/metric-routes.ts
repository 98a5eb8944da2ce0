import type { Context, Hono } from 'hono';
import { errorResponse, readCount, readJobId, readRequested } from '#shared/api/request.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { AccessDeniedError, type ObjectStore } from '#shared/ports/object-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import {
  SERIES_KINDS,
  SERIES_PER_REQUEST_MAX,
  SERIES_POINTS_DEFAULT,
  SERIES_POINTS_MAX,
  type SeriesKind,
} from '#shared/protocol/metric-series.ts';
import { SPARKLINES_PER_REQUEST_MAX } from '#shared/protocol/sparklines.ts';
import { listParts, type SeriesParts } from '#shared/views/metrics/list-parts.ts';
import { isReadAtOnce } from '#shared/views/metrics/load-parts.ts';
import type { PartCache } from '#shared/views/metrics/part-cache.ts';
import { readSeriesIndex } from '#shared/views/metrics/read-series-index.ts';
import { readSeriesPage, type SeriesQuery } from '#shared/views/metrics/read-series-page.ts';
import { openSparklineCaches, readSparklines, type WantedSparkline } from '#shared/views/metrics/read-sparklines.ts';

export type MetricRoutePorts = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly objects: ObjectStore;
};

const NONE: SeriesParts = { parts: [], revision: 'none', ignoredCount: 0 };
const NAME_CHARS_MAX = 200;
const REPLICA = /^[a-z][a-z-]{0,30}-\d{1,5}$/;

/** The metric history of a job: the names of its series, the points of some of them, and lines for a list of jobs. */
export function routeMetrics(app: Hono, ports: MetricRoutePorts, cache: PartCache): void {
  const caches = openSparklineCaches(cache);

  app.get('/v1/metrics/sparklines', async (context) => {
    const wanted = readWanted(context.req.queries('series') ?? []);
    return context.json({ sparklines: await readSparklines(ports, caches, wanted) });
  });

  app.get('/v1/jobs/:jobId/metrics', async (context) => {
    const { jobId, listed } = await list(ports, context.req.param('jobId'));
    return answer(context, listed, () => readSeriesIndex(ports, cache, { jobId, listed }));
  });

  app.get('/v1/jobs/:jobId/metrics/points', async (context) => {
    const query = readQuery(context);
    const { jobId, listed } = await list(ports, context.req.param('jobId'));
    return answer(context, listed, () => readSeriesPage(ports, cache, { jobId, listed, query }));
  });
}

async function answer(
  context: Context,
  { parts, revision }: SeriesParts,
  read: () => Promise<object>,
): Promise<Response> {
  if (!isReadAtOnce(parts)) {
    // The next answer can have more of the same parts, so its ETag is a hash of its content (response-headers.ts).
    return context.json(await read());
  }
  const headers = { etag: `"${revision}"`, 'cache-control': 'private, no-cache' };
  const known = (context.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(headers.etag)) {
    return new Response(null, { status: 304, headers });
  }
  return context.json(await read(), 200, headers);
}

/** A tuning has no metrics of its own: its trials have them. */
async function list(
  ports: MetricRoutePorts,
  given: string,
): Promise<{ readonly jobId: string; readonly listed: SeriesParts }> {
  const submitted = await readRequested(ports, given);
  if ('tuningId' in submitted) {
    return { jobId: submitted.tuningId, listed: NONE };
  }
  try {
    return { jobId: submitted.jobId, listed: await listParts(ports.objects, submitted) };
  } catch (error) {
    if (error instanceof AccessDeniedError) {
      throw errorResponse(403, error.message, 'Grant the role to the service account of the api function.');
    }
    throw error;
  }
}

function readQuery({ req }: Context): SeriesQuery {
  const names = [...new Set(req.queries('name') ?? [])];
  const remedy = `Pass name once for each series, at most ${SERIES_PER_REQUEST_MAX}: /v1/jobs/JOB/metrics lists them.`;
  if (names.length === 0 || names.length > SERIES_PER_REQUEST_MAX) {
    throw errorResponse(400, `The request names ${names.length} series.`, remedy);
  }
  if (names.some(({ length }) => length > NAME_CHARS_MAX)) {
    throw errorResponse(400, `A name is longer than ${NAME_CHARS_MAX} characters.`, remedy);
  }
  const replica = req.query('replica');
  if (replica !== undefined && !REPLICA.test(replica)) {
    throw errorResponse(
      400,
      `${replica} is not a valid replica.`,
      'A replica is a role and an index, such as master-0.',
    );
  }
  return {
    names,
    replica,
    kind: readKind(req.query('kind')),
    from: readTime(req.query('from'), Number.NEGATIVE_INFINITY),
    to: readTime(req.query('to'), Number.POSITIVE_INFINITY),
    pointsMax: readCount(req.query('pointsMax'), SERIES_POINTS_DEFAULT, SERIES_POINTS_MAX),
  };
}

function readWanted(given: readonly string[]): readonly WantedSparkline[] {
  const remedy = `Pass series=JOB:METRIC once for each job, at most ${SPARKLINES_PER_REQUEST_MAX} times.`;
  if (given.length === 0 || given.length > SPARKLINES_PER_REQUEST_MAX) {
    throw errorResponse(400, `The request names ${given.length} series.`, remedy);
  }
  return [...new Set(given)].map((text) => {
    const [, jobId = '', name = ''] = /^(\w{1,128}):(.+)$/s.exec(text) ?? [];
    if (name === '' || name.length > NAME_CHARS_MAX) {
      throw errorResponse(400, `${text.slice(0, NAME_CHARS_MAX)} is not a job and a metric.`, remedy);
    }
    return { jobId: readJobId(jobId), name };
  });
}

function readKind(given: string | undefined): SeriesKind {
  const kind = SERIES_KINDS.find((one) => one === (given ?? 'PROGRAM'));
  if (kind === undefined) {
    throw errorResponse(400, `${given} is not a kind of series.`, `The kinds are ${SERIES_KINDS.join(' and ')}.`);
  }
  return kind;
}

function readTime(given: string | undefined, fallback: number): number {
  if (given !== undefined && !/^\d{1,15}$/.test(given)) {
    throw errorResponse(400, `${given} is not a valid time.`, 'A time is in milliseconds since 1970-01-01T00:00:00Z.');
  }
  return given === undefined ? fallback : Number(given);
}
