import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Clock } from '#shared/ports/clock.ts';
import { type LogStore, LogsBusyError } from '#shared/ports/log-store.ts';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import type { TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { cancelJob } from '#shared/use-cases/intake/cancel-job.ts';
import { viewJob } from '#shared/use-cases/reports/job-view.ts';

export type ApiPorts = HeartbeatPorts &
  TuningEventPorts & { readonly curves: CurveStore; readonly logs: LogStore; readonly clock: Clock };

const JOBS_PER_PAGE_MAX = 100;
const JOBS_PER_PAGE_DEFAULT = 20;
const LOG_ENTRIES_PER_PAGE_MAX = 1_000;

/** The HTTP API: jobs in the style of AI Platform's REST resource, `POST …:cancel`, and paginated logs. */
export function createApiApp(ports: ApiPorts): Hono {
  const app = new Hono();

  app.get('/v1/jobs', async (context) => {
    const countMax = readCount(context.req.query('pageSize'), JOBS_PER_PAGE_DEFAULT, JOBS_PER_PAGE_MAX);
    const after = readPageToken(context.req.query('pageToken'));
    // An unreadable job must not hide the others; reading it by its id reports the error.
    const { items: jobs, error } = await readableOf(
      ports.jobs.list({ countMax, ...(after === undefined ? {} : { after }) }),
    );
    const now = ports.clock.now();
    const last = jobs.length === countMax || error !== null ? jobs.at(-1) : undefined;
    return context.json({
      jobs: jobs.map((job) => viewJob(job, [], now)),
      ...(last === undefined ? {} : { nextPageToken: `${last.createdAt}.${last.jobId}` }),
    });
  });

  app.get('/v1/jobs/:jobId', async (context) => context.json(await readView(ports, context.req.param('jobId'))));

  app.get('/v1/jobs/:jobId/logs', async (context) => {
    const jobId = readJobId(context.req.param('jobId'));
    const countMax = readCount(context.req.query('pageSize'), LOG_ENTRIES_PER_PAGE_MAX, LOG_ENTRIES_PER_PAGE_MAX);
    return context.json(await ports.logs.read({ jobId, cursor: context.req.query('cursor') ?? '', countMax }));
  });

  app.post('/v1/jobs/:target{.+:cancel}', async (context) => {
    const jobId = readJobId(context.req.param('target').replace(/:cancel$/, ''));
    await cancelJob(ports, jobId, ports.clock.now());
    return context.json(await readView(ports, jobId));
  });

  app.notFound((context) =>
    context.json(errorBody(404, `The path ${context.req.path} does not exist.`, 'List the jobs at /v1/jobs.'), 404),
  );
  app.onError((error) => {
    if (error instanceof HTTPException) {
      return error.getResponse();
    }
    if (error instanceof LogsBusyError) {
      // Not an empty page, which a client that follows the log would take for its end.
      const seconds = error.retryAfterSeconds;
      const answer = errorBody(429, error.message, `Retry in ${seconds} s with the same cursor.`);
      return Response.json(answer, { status: 429, headers: { 'retry-after': String(seconds) } });
    }
    throw error;
  });
  return app;
}

async function readView(ports: ApiPorts, given: string) {
  const jobId = readJobId(given);
  const stored = await ports.jobs.read(jobId);
  if (stored === undefined) {
    throw errorResponse(404, `Job ${jobId} does not exist.`, 'List the jobs to see their ids: dropforge jobs list.');
  }
  return viewJob(stored.job, await ports.replicas.listByJob(jobId), ports.clock.now());
}

function readJobId(given: string): string {
  if (!JOB_ID_PATTERN.test(given)) {
    throw errorResponse(
      400,
      `${given} is not a valid job id.`,
      'A job id is a letter, followed by up to 127 letters, digits or underscores.',
    );
  }
  return given;
}

/** Parses the `nextPageToken` of the previous page, which names its last job. */
function readPageToken(given: string | undefined) {
  if (given === undefined) {
    return undefined;
  }
  const [, createdAt, jobId] = /^(\d{1,15})\.(\w+)$/.exec(given) ?? [];
  if (createdAt === undefined || jobId === undefined) {
    throw errorResponse(400, `${given} is not a valid page token.`, 'Pass the nextPageToken of the previous response.');
  }
  return { createdAt: Number(createdAt), jobId };
}

function readCount(given: string | undefined, fallback: number, max: number): number {
  if (given === undefined) {
    return fallback;
  }
  const count = Number(given);
  if (!Number.isSafeInteger(count) || count < 1 || count > max) {
    throw errorResponse(400, `${given} is not an integer from 1 to ${max}.`, 'Correct the query parameter.');
  }
  return count;
}

function errorResponse(status: 400 | 404, message: string, remedy: string): HTTPException {
  return new HTTPException(status, { res: Response.json(errorBody(status, message, remedy), { status }) });
}

function errorBody(code: number, message: string, remedy: string) {
  return { error: { code, message, remedy } };
}
