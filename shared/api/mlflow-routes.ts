import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { restrictionOf, viewingOf } from '#shared/api/authorize.ts';
import { readRequested } from '#shared/api/request.ts';
import type { Owned } from '#shared/domain/access.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { SERIES_POINTS_MAX } from '#shared/protocol/metric-series.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import type { JobView } from '#shared/protocol/report.ts';
import { listParts } from '#shared/use-cases/metrics/list-parts.ts';
import type { PartCache } from '#shared/use-cases/metrics/part-cache.ts';
import { type MlflowRun, readMlflowRun } from '#shared/use-cases/metrics/read-mlflow-document.ts';
import { readSeriesPage } from '#shared/use-cases/metrics/read-series-page.ts';
import { listSubmitted } from '#shared/use-cases/reports/list-submitted.ts';
import { type ViewPorts, viewListed, viewSubmitted } from '#shared/use-cases/reports/view-submitted.ts';

export type MlflowPorts = ViewPorts & { readonly objects: ObjectStore; readonly clock: Clock };

/** Each run costs a read of its document. */
const RUNS_PER_PAGE_MAX = 50;
const BODY_BYTES_MAX = 65_536;
const EXPERIMENT = {
  experiment_id: '0',
  name: 'Default',
  artifact_location: '',
  lifecycle_stage: 'active',
  creation_time: 0,
  last_update_time: 0,
};
const STATUSES: Readonly<Record<string, string>> = { SUCCEEDED: 'FINISHED', FAILED: 'FAILED', CANCELLED: 'KILLED' };
const WAITING: ReadonlySet<string> = new Set(['QUEUED', 'PREPARING']);
const READ_ONLY =
  'This API is read-only for MLflow. Programs log to the tracking server of their VM: leave MLFLOW_TRACKING_URI as it is in the job.';

/**
 * The part of MLflow's REST API that reads: the deployment is the experiment `Default`, and each job, but not a tuning,
 * a run with the job's id. So `mlflow.search_runs()` and `MlflowClient` read jobs.
 */
export function routeMlflow(app: Hono, ports: MlflowPorts, cache: PartCache): void {
  const at = (path: string) => `/api/2.0/mlflow/${path}`;
  app.get(at('experiments/get'), (context) =>
    context.req.query('experiment_id') === '0' ? context.json({ experiment: EXPERIMENT }) : missing(context),
  );
  app.get(at('experiments/get-by-name'), (context) =>
    context.req.query('experiment_name') === 'Default' ? context.json({ experiment: EXPERIMENT }) : missing(context),
  );
  app.on(['GET', 'POST'], at('experiments/search'), (context) => context.json({ experiments: [EXPERIMENT] }));
  app.post(at('runs/search'), bodyLimit({ maxSize: BODY_BYTES_MAX }), (context) => searchRuns(context, ports));
  app.get(at('runs/get'), async (context) => {
    const submitted = await readRequested(ports, context.req.query('run_id') ?? '');
    const view = await viewSubmitted(ports, submitted, viewingOf(context, submitted, ports.clock.now()));
    return context.json({ run: runOf(view, await readLogged(context, ports, { submitted, view })) });
  });
  app.get(at('metrics/get-history'), async (context) => {
    const submitted = await readRequested(ports, context.req.query('run_id') ?? '');
    const name = context.req.query('metric_key') ?? '';
    if ('tuningId' in submitted) {
      return context.json({ metrics: [] });
    }
    const { jobId, attempt, createdAt, spec } = submitted;
    const listed = await listParts(ports.objects, { jobId, attempt, createdAt, jobDir: spec.jobDir });
    const range = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, pointsMax: SERIES_POINTS_MAX };
    const query = { kind: 'PROGRAM' as const, names: [name], replica: undefined, ...range };
    const { series } = await readSeriesPage(ports, cache, { jobId, listed, query });
    const metrics = series.flatMap(({ steps, times, values }) =>
      values.map((value, index) => ({
        ...{ key: name, value, timestamp: Math.round(times[index] ?? 0), step: Math.round(steps?.[index] ?? index) },
      })),
    );
    return context.json({ metrics });
  });
  app.all('/api/2.0/mlflow/*', (context) => {
    const isRead = context.req.method === 'GET';
    const answer = isRead
      ? { error_code: 'ENDPOINT_NOT_FOUND', message: `There is no endpoint ${context.req.path.slice(0, 200)}.` }
      : { error_code: 'PERMISSION_DENIED', message: READ_ONLY };
    return context.json(answer, isRead ? 404 : 403);
  });
}

async function searchRuns(context: Context, ports: MlflowPorts): Promise<Response> {
  const text = await context.req.text();
  const body = Object(parseJson(text)) as Readonly<Record<string, unknown>>;
  const { filter, order_by: order, max_results: wanted, page_token: token } = body;
  const isOrdered = Array.isArray(order) && order.some((each) => !/^(attributes?\.)?start_time( DESC)?$/i.test(each));
  if ((typeof filter === 'string' && filter.trim() !== '') || isOrdered) {
    const message = 'This API lists all runs, newest first: leave out filter and order, and filter the result.';
    return context.json({ error_code: 'INVALID_PARAMETER_VALUE', message }, 400);
  }
  const [, createdAt, jobId] = /^(\d{1,15})\.(\w+)$/.exec(String(token ?? '')) ?? [];
  const after =
    createdAt === undefined || jobId === undefined ? {} : { after: { createdAt: Number(createdAt), jobId } };
  const countMax = Math.min(RUNS_PER_PAGE_MAX, Math.max(1, Number(wanted) || RUNS_PER_PAGE_MAX));
  const { items, next } = await listSubmitted(ports, { countMax, ...after });
  const now = ports.clock.now();
  const jobs = items.filter((item) => !('tuningId' in item));
  const runs: ReturnType<typeof runOf>[] = [];
  for (const job of jobs) {
    const view = await viewListed(ports, job, { now, hasProgress: true, restriction: restrictionOf(context, job) });
    // One after the other: a program can write a document of 16 MiB, and all of them at once exceed the memory.
    runs.push(runOf(view, await readLogged(context, ports, { submitted: job, view })));
  }
  return context.json({ runs, ...(next === null ? {} : { next_page_token: `${next.createdAt}.${next.jobId}` }) });
}

/** What the program logged, which is in a file of the job; without parameters and tags if its files are denied. */
async function readLogged(
  context: Context,
  { objects }: MlflowPorts,
  { submitted, view }: { readonly submitted: Owned; readonly view: JobView },
): Promise<MlflowRun | undefined> {
  const logged = await readMlflowRun(objects, view.jobDir);
  return logged && restrictionOf(context, submitted) !== null ? { ...logged, params: {}, tags: {} } : logged;
}

function runOf(view: JobView, logged: MlflowRun | undefined) {
  const { jobId, state, createTime, startTime, endTime, labels, jobDir } = view;
  const reported = view.replicas?.find(({ replica }) => replica === 'master-0')?.metrics ?? {};
  const status = STATUSES[state] ?? (WAITING.has(state) ? 'SCHEDULED' : 'RUNNING');
  const startedAt = Date.parse(startTime ?? createTime);
  const metrics = {
    ...Object.fromEntries(Object.entries(reported).map(([key, value]) => [key, [value, startedAt, 0] as const])),
    ...logged?.metrics,
  };
  return {
    info: {
      ...{ run_id: jobId, run_uuid: jobId, run_name: jobId, experiment_id: '0', user_id: '', status },
      start_time: startedAt,
      ...(endTime === null ? {} : { end_time: Date.parse(endTime) }),
      ...{ artifact_uri: jobDir, lifecycle_stage: 'active' },
    },
    data: {
      metrics: Object.entries(metrics).map(([key, [value, timestamp, step]]) => ({ key, value, timestamp, step })),
      params: toPairs(logged?.params ?? {}),
      tags: toPairs({ ...labels, ...logged?.tags, 'mlflow.runName': jobId }),
    },
  };
}

function toPairs(values: Readonly<Record<string, string>>) {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}

function missing(context: Context): Response {
  const message = 'There is one experiment: Default, with the id 0.';
  return context.json({ error_code: 'RESOURCE_DOES_NOT_EXIST', message }, 404);
}
