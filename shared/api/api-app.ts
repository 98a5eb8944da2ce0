import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { routeChanges } from '#shared/api/change-routes.ts';
import { routeDefinition } from '#shared/api/definition-routes.ts';
import { routeFiles } from '#shared/api/file-routes.ts';
import { callerOf, type IdentifyCaller, identifyCallers } from '#shared/api/identify-callers.ts';
import { routeLists } from '#shared/api/list-routes.ts';
import { routeMetrics } from '#shared/api/metric-routes.ts';
import { type NotificationPorts, routeNotifications } from '#shared/api/notification-routes.ts';
import { routePage, sendUnknownScreen } from '#shared/api/page-routes.ts';
import { rejectForeignPages } from '#shared/api/reject-foreign-pages.ts';
import { errorBody, errorResponse, readCount, readJobId, readRequested } from '#shared/api/request.ts';
import { addResponseHeaders } from '#shared/api/response-headers.ts';
import { routeShell } from '#shared/api/shell-routes.ts';
import { routeSubmissions, type SubmissionPorts } from '#shared/api/submission-routes.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { ChangeFeed } from '#shared/ports/change-feed.ts';
import { type LogStore, LogsBusyError } from '#shared/ports/log-store.ts';
import type { PageAssets } from '#shared/ports/page-assets.ts';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import { findReplacements } from '#shared/text/replaced-names.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { cancelJob } from '#shared/use-cases/intake/cancel-job.ts';
import { PartCache } from '#shared/views/metrics/part-cache.ts';
import { readTrialViews, viewSubmitted } from '#shared/views/view-submitted.ts';

export type ApiPorts = SubmissionPorts &
  NotificationPorts & {
    readonly curves: CurveStore;
    readonly logs: LogStore;
    readonly page: PageAssets;
    readonly logger: Logger;
    readonly changes: ChangeFeed;
    /** Without it, every caller is unknown. */
    readonly identifyCaller?: IdentifyCaller | undefined;
  };

const TRIALS_PER_PAGE_MAX = 500;
const LOG_ENTRIES_PER_PAGE_MAX = 1_000;

/**
 * The HTTP API and the page that uses it: jobs in the style of AI Platform's REST resource, tunings among them, with
 * their trials, logs, metrics and files; submissions; what changed; and notifications.
 */
export function createApiApp(ports: ApiPorts): Hono {
  const app = new Hono();
  addResponseHeaders(app);
  rejectForeignPages(app);
  identifyCallers(app, ports.identifyCaller);
  routePage(app, ports.page);
  routeSubmissions(app, ports);

  routeLists(app, ports);
  routeChanges(app, ports);
  // Loaded by those who ask for it: most starts of the API do not.
  app.get('/v1/openapi.json', async ({ json }) => json((await import('#shared/api/openapi.ts')).describeApi()));

  app.get('/v1/jobs/:jobId', async (context) => context.json(await readView(ports, context.req.param('jobId'))));

  app.get('/v1/jobs/:jobId/logs', async (context) => {
    const jobId = readJobId(context.req.param('jobId'));
    const countMax = readCount(context.req.query('pageSize'), LOG_ENTRIES_PER_PAGE_MAX, LOG_ENTRIES_PER_PAGE_MAX);
    const { cursor = '', replica } = context.req.query();
    return context.json(await ports.logs.read({ jobId, replica, cursor, countMax }));
  });

  routeTrials(app, ports);
  routeDefinition(app, ports);
  routeFiles(app, ports);
  routeMetrics(app, ports, new PartCache());
  routeNotifications(app, ports);
  routeShell(app, ports);

  routeCancel(app, ports);

  app.notFound(async (context) => {
    const { path } = context.req;
    const remedy = findReplacements(removedNameOf(path))[0] ?? 'List the jobs at /v1/jobs.';
    const answer = errorBody(404, `The path ${path} does not exist.`, remedy);
    return (await sendUnknownScreen(context, ports.page)) ?? context.json(answer, 404);
  });
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
    // The adapter to Node.js would answer 500 without a trace of the error.
    logThrown(ports.logger, error);
    return Response.json(errorBody(500, 'The request failed.', 'Repeat it; the log of the API has the error.'), {
      status: 500,
    });
  });
  return app;
}

function routeCancel(app: Hono, ports: ApiPorts): void {
  app.post('/v1/jobs/:target{.+:cancel}', async (context) => {
    const jobId = readJobId(context.req.param('target').replace(/:cancel$/, ''));
    await cancelJob(ports, { jobId, by: callerOf(context) }, ports.clock.now());
    return context.json(await readView(ports, jobId));
  });
}

/** The trials of a tuning, in the order of their ids, page by page; and one trial with all of its measurements. */
function routeTrials(app: Hono, ports: ApiPorts): void {
  app.get('/v1/jobs/:jobId/trials', async (context) => {
    const countMax = readCount(context.req.query('pageSize'), TRIALS_PER_PAGE_MAX, TRIALS_PER_PAGE_MAX);
    const afterOrdinal = readTrialId(context.req.query('pageToken') ?? '0', 'page token');
    const tuning = await readTuning(ports, context.req.param('jobId'));
    const { items: trials, error } = await readableOf(
      ports.tunings.listTrials(tuning.tuningId, { afterOrdinal, countMax }),
    );
    const last = trials.length === countMax || error !== null ? trials.at(-1) : undefined;
    return context.json({
      trials: await readTrialViews(ports, { tuning, trials }, ports.clock.now()),
      ...(last === undefined ? {} : { nextPageToken: String(last.ordinal) }),
    });
  });

  app.get('/v1/jobs/:jobId/trials/:trialId', async (context) => {
    const ordinal = readTrialId(context.req.param('trialId'), 'trial id');
    const tuning = await readTuning(ports, context.req.param('jobId'));
    const { tuningId } = tuning;
    const trial = await ports.tunings.readTrial(tuningId, ordinal);
    if (trial === undefined) {
      const remedy = `List the trials to see their ids: dropforge trials ${tuningId}.`;
      throw errorResponse(404, `Job ${tuningId} has no trial ${ordinal}.`, remedy);
    }
    const [view] = await readTrialViews(ports, { tuning, trials: [trial] }, ports.clock.now());
    return context.json({ ...view, curve: (await ports.curves.read(tuningId, ordinal))?.points ?? [] });
  });
}

/** The name that a removed path has in the table: the job is JOB, and what follows the removed part is left out. */
function removedNameOf(path: string): string {
  const [, version, jobs, , resource] = path.split('/');
  return version === 'v1' && jobs === 'jobs' && resource !== undefined
    ? `/v1/jobs/JOB/${resource}`
    : path.split('/', 4).join('/');
}

async function readView(ports: ApiPorts, given: string) {
  return viewSubmitted(ports, await readRequested(ports, given), ports.clock.now());
}

async function readTuning(ports: ApiPorts, given: string): Promise<Tuning> {
  const submitted = await readRequested(ports, given);
  if ('tuningId' in submitted) {
    return submitted;
  }
  const { jobId, trial } = submitted;
  const remedy = trial === null ? 'Describe it instead.' : `List the trials of ${trial.tuningId}.`;
  throw errorResponse(404, `Job ${jobId} tunes no hyperparameters, so it has no trials.`, remedy);
}

function readTrialId(given: string, what: string): number {
  if (!/^\d{1,6}$/.test(given)) {
    throw errorResponse(400, `${given} is not a valid ${what}.`, 'A trial id is a number, such as 1.');
  }
  return Number(given);
}
