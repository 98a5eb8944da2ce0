import { z } from 'zod';
import { requestJson } from '#cli/cloud/request-json.ts';
import type { LogPage } from '#shared/ports/log-store.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/report.ts';

/** The most jobs and log entries that are asked for at once: as many as the API gives. */
const JOBS_PER_PAGE_MAX = 100;
const LOG_ENTRIES_PER_PAGE_MAX = 1_000;

export type ApiClient = {
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

/** Dropforge's HTTP API. Every call fails with the server's own words where it refuses. */
export function createApiClient(api: string, signal: AbortSignal): ApiClient {
  const urlOf = (jobId: string, rest = '') => `${api}/v1/jobs/${encodeURIComponent(jobId)}${rest}`;
  return {
    async listJobs(countMax) {
      const jobs: JobView[] = [];
      let pageToken: string | undefined;
      do {
        const pageSize = String(Math.min(JOBS_PER_PAGE_MAX, countMax - jobs.length));
        const query = new URLSearchParams({ pageSize, ...(pageToken !== undefined && { pageToken }) });
        const page = await requestJson(`${api}/v1/jobs?${query}`, jobListSchema, { signal });
        jobs.push(...page.jobs);
        pageToken = page.nextPageToken;
      } while (pageToken !== undefined && jobs.length < countMax);
      return jobs;
    },
    getJob: (jobId) => requestJson(urlOf(jobId), jobViewSchema, { signal }),
    cancelJob: (jobId) => requestJson(urlOf(jobId, ':cancel'), jobViewSchema, { method: 'POST', signal }),
    readLogs(jobId, cursor) {
      const query = new URLSearchParams({ cursor, pageSize: String(LOG_ENTRIES_PER_PAGE_MAX) });
      return requestJson(urlOf(jobId, `/logs?${query}`), logPageSchema, { signal });
    },
  };
}
