import { z } from 'zod';
import type { Api } from '#cli/client/find-target.ts';
import type { Pace } from '#cli/client/poll-intervals.ts';
import { requestJson } from '#cli/client/request-json.ts';
import type { LogPage } from '#shared/ports/log-store.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/report.ts';

/** The most jobs and log entries that are asked for at once: as many as the API gives. */
const JOBS_PER_PAGE_MAX = 100;
export const LOG_ENTRIES_PER_PAGE_MAX = 1_000;

export type ApiClient = {
  /** How often it is to be asked by whoever follows a job. */
  readonly pace: Pace;
  /** The newest jobs first, from as many pages as it takes. */
  listJobs(countMax: number): Promise<readonly JobView[]>;
  getJob(jobId: string): Promise<JobView>;
  cancelJob(jobId: string): Promise<JobView>;
  /** The entries after the cursor; the empty cursor begins at the start. */
  readLogs(jobId: string, cursor: string): Promise<LogPage>;
};

const jobListSchema = z.object({ jobs: z.array(jobViewSchema), nextPageToken: z.string().optional() });

const logPageSchema = z.object({
  entries: z.array(
    z.object({
      jobId: z.string(),
      attempt: z.int(),
      replica: z.string(),
      stream: z.enum(['stdout', 'stderr', 'agent']),
      severity: z.enum(['INFO', 'WARNING', 'ERROR']),
      at: z.number(),
      text: z.string(),
    }),
  ),
  cursor: z.string(),
});

/** Dropforge's HTTP API. Every call fails with the server's own words where it refuses: a Busy where it may be asked later. */
export function createApiClient({ url, authorize, remedies, pace }: Api, signal: AbortSignal): ApiClient {
  const urlOf = (jobId: string, rest = '') => `${url}/v1/jobs/${encodeURIComponent(jobId)}${rest}`;
  const ask = async <T>(address: string, schema: z.ZodType<T>, method: 'GET' | 'POST' = 'GET'): Promise<T> =>
    requestJson(address, schema, { method, signal, remedies, headers: await authorize() });
  return {
    pace,
    async listJobs(countMax) {
      const jobs: JobView[] = [];
      let pageToken: string | undefined;
      do {
        const pageSize = String(Math.min(JOBS_PER_PAGE_MAX, countMax - jobs.length));
        const query = new URLSearchParams({ pageSize, ...(pageToken !== undefined && { pageToken }) });
        const page = await ask(`${url}/v1/jobs?${query}`, jobListSchema);
        jobs.push(...page.jobs);
        pageToken = page.nextPageToken;
      } while (pageToken !== undefined && jobs.length < countMax);
      return jobs;
    },
    getJob: (jobId) => ask(urlOf(jobId), jobViewSchema),
    cancelJob: (jobId) => ask(urlOf(jobId, ':cancel'), jobViewSchema, 'POST'),
    readLogs(jobId, cursor) {
      const query = new URLSearchParams({ cursor, pageSize: String(LOG_ENTRIES_PER_PAGE_MAX) });
      return ask(urlOf(jobId, `/logs?${query}`), logPageSchema);
    },
  };
}
