import type * as z from 'zod';
import { type Remedies, requestJson } from '#cli/client/request-json.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import { type Changes, changesSchema } from '#shared/ports/change-feed.ts';
import { type LogPage, logPageSchema } from '#shared/ports/log-store.ts';
import {
  jobHistorySchema,
  jobListSchema,
  shellTargetSchema,
  trialDetailSchema,
  trialPageSchema,
} from '#shared/protocol/answers.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/job-view.ts';
import {
  type SeriesIndex,
  type SeriesKind,
  type SeriesPage,
  seriesIndexSchema,
  seriesPageSchema,
} from '#shared/protocol/metric-series.ts';
import { type RunningSummary, runningSummarySchema } from '#shared/protocol/running-summary.ts';
import { SHELL_COMMAND_CHARACTERS_MAX } from '#shared/protocol/submission.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

/** Page sizes: the maximum that the API allows. */
const JOBS_PER_PAGE_MAX = 100;
const TRIALS_PER_PAGE_MAX = 100;
export const LOG_ENTRIES_PER_PAGE_MAX = 1_000;

/** How to reach a Dropforge API. */
export type Api = {
  readonly url: string;
  /** Returns the authorization headers of a request. */
  readonly authorize: () => Promise<Readonly<Record<string, string>>>;
  readonly remedies: Remedies;
  readonly pollIntervals: PollIntervals;
};

/** How often to poll while following a job. */
export type PollIntervals = {
  /** Before the second poll; doubles after each poll, up to `maxMs`. */
  readonly initialMs: number;
  readonly maxMs: number;
  /** Between two pages of a log, while there are more. */
  readonly logPageMs: number;
};

export type ApiClient = {
  readonly pollIntervals: PollIntervals;
  /** Lists up to `countMax` jobs, newest first, from as many pages as needed. */
  listJobs(countMax: number): Promise<readonly JobView[]>;
  getJob(jobId: string): Promise<JobView>;
  getRunning(): Promise<RunningSummary>;
  /** Returns the events that changed a job or tuning, oldest first. */
  getHistory(jobId: string): Promise<readonly HistoryEntry[]>;
  /** Lists what changed of the job since the answer with this marker. */
  listChanges(jobId: string, marker: string | undefined): Promise<Changes>;
  cancelJob(jobId: string): Promise<JobView>;
  /** Names the VM in which a shell can be opened; the deployment records who asks for which command. */
  openShell(jobId: string, request: ShellRequest): Promise<ShellTarget>;
  /** Ends the time of a VM that is kept after a failure. */
  releaseVm(jobId: string): Promise<JobView>;
  /** A page of a tuning's trials, in the order of their ids; the first one without a token. */
  readTrials(tuningId: string, pageToken?: string): Promise<TrialPage>;
  getTrial(tuningId: string, trialId: string): Promise<TrialDetail>;
  getMetrics(jobId: string): Promise<SeriesIndex>;
  /** The points of at most SERIES_PER_REQUEST_MAX series. */
  readMetricPoints(jobId: string, query: PointsQuery): Promise<SeriesPage>;
  /** Returns the entries after the cursor, of one replica if named; an empty cursor starts at the beginning. */
  readLogs(jobId: string, cursor: string, replica?: string): Promise<LogPage>;
};

export type ShellRequest = { readonly replica: string | undefined; readonly command: string | undefined };

export type ShellTarget = z.infer<typeof shellTargetSchema>;

export type PointsQuery = {
  readonly names: readonly string[];
  readonly kind: SeriesKind;
  readonly replica: string | undefined;
  readonly pointsMax: number;
};

export type TrialPage = { readonly trials: readonly TrialView[]; readonly nextPageToken?: string | undefined };

/** A trial with what its program has reported so far. */
export type TrialDetail = z.infer<typeof trialDetailSchema>;

type Sent = { readonly method?: 'POST'; readonly body?: string };

const JSON_BODY = { 'content-type': 'application/json' };

/**
 * Client of Dropforge's HTTP API. Calls throw Failure with the server's message for an error response; NotFound for
 * 404, RetryableFailure for 429 and 503.
 */
export function createApiClient({ url, authorize, remedies, pollIntervals }: Api, signal: AbortSignal): ApiClient {
  const urlOf = (jobId: string, rest = '') => `${url}/v1/jobs/${encodeURIComponent(jobId)}${rest}`;
  const request = async <T>(resourceUrl: string, schema: z.ZodType<T>, options: Sent = {}): Promise<T> => {
    const headers = { ...(options.body !== undefined && JSON_BODY), ...(await authorize()) };
    return requestJson(resourceUrl, schema, { ...options, signal, remedies, headers });
  };
  return {
    pollIntervals,
    async listJobs(countMax) {
      const jobs: JobView[] = [];
      let pageToken: string | undefined;
      do {
        const pageSize = String(Math.min(JOBS_PER_PAGE_MAX, countMax - jobs.length));
        const query = new URLSearchParams({
          view: 'PROGRESS',
          pageSize,
          ...(pageToken !== undefined && { pageToken }),
        });
        const page = await request(`${url}/v1/jobs?${query}`, jobListSchema);
        jobs.push(...page.jobs);
        pageToken = page.nextPageToken;
      } while (pageToken !== undefined && jobs.length < countMax);
      return jobs;
    },
    getJob: (jobId) => request(urlOf(jobId), jobViewSchema),
    getRunning: () => request(`${url}/v1/running`, runningSummarySchema),
    getHistory: async (jobId) => (await request(urlOf(jobId, '/history'), jobHistorySchema)).history,
    listChanges(jobId, marker) {
      const query = new URLSearchParams({ job: jobId, ...(marker !== undefined && { since: marker }) });
      return request(`${url}/v1/changes?${query}`, changesSchema);
    },
    cancelJob: (jobId) => request(urlOf(jobId, ':cancel'), jobViewSchema, { method: 'POST' }),
    openShell(jobId, { replica, command }) {
      const body = JSON.stringify({ replica, command: command?.slice(0, SHELL_COMMAND_CHARACTERS_MAX) });
      return request(urlOf(jobId, ':openShell'), shellTargetSchema, { method: 'POST', body });
    },
    releaseVm: (jobId) => request(urlOf(jobId, ':release'), jobViewSchema, { method: 'POST' }),
    readTrials(tuningId, pageToken) {
      const pageSize = String(TRIALS_PER_PAGE_MAX);
      const query = new URLSearchParams({ pageSize, ...(pageToken !== undefined && { pageToken }) });
      return request(urlOf(tuningId, `/trials?${query}`), trialPageSchema);
    },
    getTrial: (tuningId, trialId) =>
      request(urlOf(tuningId, `/trials/${encodeURIComponent(trialId)}`), trialDetailSchema),
    getMetrics: (jobId) => request(urlOf(jobId, '/metrics'), seriesIndexSchema),
    readMetricPoints(jobId, { names, kind, replica, pointsMax }) {
      const query = new URLSearchParams({
        kind,
        pointsMax: String(pointsMax),
        ...(replica !== undefined && { replica }),
      });
      for (const name of names) {
        query.append('name', name);
      }
      return request(urlOf(jobId, `/metrics/points?${query}`), seriesPageSchema);
    },
    readLogs(jobId, cursor, replica) {
      const query = new URLSearchParams({ cursor, pageSize: String(LOG_ENTRIES_PER_PAGE_MAX) });
      if (replica !== undefined) {
        query.set('replica', replica);
      }
      return request(urlOf(jobId, `/logs?${query}`), logPageSchema);
    },
  };
}
