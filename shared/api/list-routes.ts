import type { Context, Hono } from 'hono';
import { errorResponse, readCount, readJobId } from '#shared/api/request.ts';
import { JOB_STATES, type JobState } from '#shared/domain/job-state.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { PagePosition } from '#shared/views/list-submitted.ts';
import { readMatching, type SubmittedFilter, searchSubmitted } from '#shared/views/search-submitted.ts';
import { summarizeRunning } from '#shared/views/summarize-running.ts';
import { type ViewPorts, viewListed } from '#shared/views/view-submitted.ts';

const JOBS_PER_PAGE_MAX = 100;
const JOBS_PER_PAGE_DEFAULT = 20;
const TEXT_CHARACTERS_MAX = 128;
const LABELS_MAX = 8;

/**
 * `GET /v1/jobs`: jobs and tunings, newest first, page by page, filtered by `state`, `text` and `label`; with
 * `view=PROGRESS`, each job has its replicas; with `id`, once for each job, only those of them that satisfy the filter.
 * `GET /v1/running`: what runs now.
 */
export function routeLists(app: Hono, ports: ViewPorts & { readonly clock: Clock }): void {
  app.get('/v1/jobs', async (context) => {
    const countMax = readCount(context.req.query('pageSize'), JOBS_PER_PAGE_DEFAULT, JOBS_PER_PAGE_MAX);
    const after = readPageToken(context.req.query('pageToken'));
    const page = { countMax, ...(after === undefined ? {} : { after }) };
    const ids = readIds(context);
    const { items, next } =
      ids === undefined
        ? await searchSubmitted(ports, page, readFilter(context))
        : { items: await readMatching(ports, ids, readFilter(context)), next: null };
    const now = ports.clock.now();
    const hasProgress = context.req.query('view') === 'PROGRESS';
    return context.json({
      jobs: await Promise.all(items.map((item) => viewListed(ports, item, { now, hasProgress }))),
      ...(next === null ? {} : { nextPageToken: `${next.createdAt}.${next.id}` }),
    });
  });

  app.get('/v1/running', async (context) => context.json(await summarizeRunning(ports)));
}

function readIds({ req }: Context): readonly string[] | undefined {
  const ids = req.queries('id');
  if (ids !== undefined && ids.length > JOBS_PER_PAGE_MAX) {
    throw errorResponse(400, `The request names ${ids.length} jobs.`, `Name at most ${JOBS_PER_PAGE_MAX}.`);
  }
  return ids?.map(readJobId);
}

function readFilter({ req }: Context): SubmittedFilter {
  const states = (req.query('state') ?? '').split(',').filter((state) => state !== '');
  const unknown = states.find((state) => !(JOB_STATES as readonly string[]).includes(state));
  if (unknown !== undefined) {
    throw errorResponse(400, `${unknown} is not a state of jobs.`, `Use one of ${JOB_STATES.join(', ')}.`);
  }
  const text = req.query('text') ?? '';
  const labels = req.queries('label') ?? [];
  if (text.length > TEXT_CHARACTERS_MAX || labels.length > LABELS_MAX) {
    const remedy = `Search for at most ${TEXT_CHARACTERS_MAX} characters and ${LABELS_MAX} labels.`;
    throw errorResponse(400, 'The filter is too long.', remedy);
  }
  return { states: states as readonly JobState[], text, labels };
}

/** Parses the `nextPageToken` of the previous page, which names its last job. */
function readPageToken(given: string | undefined): PagePosition | undefined {
  if (given === undefined) {
    return undefined;
  }
  const [, createdAt, id] = /^(\d{1,15})\.(\w+)$/.exec(given) ?? [];
  if (createdAt === undefined || id === undefined) {
    throw errorResponse(400, `${given} is not a valid page token.`, 'Pass the nextPageToken of the previous response.');
  }
  return { createdAt: Number(createdAt), id };
}
