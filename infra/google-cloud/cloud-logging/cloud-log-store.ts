import type { GoogleAuth } from 'google-auth-library';
import * as z from 'zod';
import { type LogEntry, type LogStore, LogsBusyError } from '#shared/ports/log-store.ts';

export type CloudLogStoreOptions = {
  readonly projectId: string;
  /** The URL of Cloud Logging, without a trailing slash. */
  readonly url: string;
  readonly auth: GoogleAuth;
};

const entrySchema = z.object({
  insertId: z.string(),
  timestamp: z.string(),
  severity: z.string().default('DEFAULT'),
  labels: z.object({
    job_id: z.string(),
    attempt: z.coerce.number(),
    replica: z.string(),
    stream: z.enum(['stdout', 'stderr', 'agent']),
  }),
  textPayload: z.string().optional(),
  jsonPayload: z.record(z.string(), z.unknown()).optional(),
});

const pageSchema = z.object({ entries: z.array(entrySchema).default([]), nextPageToken: z.string().optional() });

type CloudEntry = z.infer<typeof entrySchema>;

/** `entries.list` can return an empty page with a token if its search is not finished (API docs, "nextPageToken"). */
const EMPTY_PAGES_MAX = 20;

const LIST_MS_MAX = 60_000;

/** Transient errors are retried at once; 429 is not, since a retry would use up more of the quota. */
const RETRY_CONFIG = {
  retry: 3,
  httpMethodsToRetry: ['POST'],
  statusCodesToRetry: [
    [408, 408],
    [500, 599],
  ],
};

const TOO_MANY_REQUESTS = 429;

/** The quota is per minute (docs, "Quotas and limits"): after this time a part of it is available again. */
const RETRY_AFTER_SECONDS = 15;

/**
 * Time and insertId of the last entry read: entries with equal timestamps are ordered by insertId (API docs,
 * "orderBy").
 */
const cursorSchema = z.tuple([z.iso.datetime({ offset: true }), z.string().min(1)]);

/**
 * Logs of VMs, read from Cloud Logging (`entries.list`). A cursor is the last entry's time and id, so it is valid as
 * long as the log exists. An entry that arrives after newer ones of another VM were read is only found by reading from
 * the start.
 */
export function createCloudLogStore({ projectId, url, auth }: CloudLogStoreOptions): LogStore {
  async function requestPage(body: object): Promise<z.infer<typeof pageSchema>> {
    try {
      const { data } = await auth.request<unknown>({
        url: `${url}/v2/entries:list`,
        method: 'POST',
        data: body,
        timeout: LIST_MS_MAX,
        retry: true,
        retryConfig: RETRY_CONFIG,
      });
      return pageSchema.parse(data);
    } catch (error) {
      if (statusOf(error) === TOO_MANY_REQUESTS) {
        const message = `Cloud Logging's read quota of ${projectId} is exceeded.`;
        throw new LogsBusyError(message, RETRY_AFTER_SECONDS);
      }
      throw error;
    }
  }

  async function list(filter: string, countMax: number): Promise<readonly CloudEntry[]> {
    let pageToken: string | undefined;
    for (let pages = 0; pages < EMPTY_PAGES_MAX; pages += 1) {
      const page = await requestPage({
        resourceNames: [`projects/${projectId}`],
        filter,
        orderBy: 'timestamp asc',
        pageSize: countMax,
        ...(pageToken !== undefined && { pageToken }),
      });
      if (page.entries.length > 0 || page.nextPageToken === undefined) {
        return page.entries;
      }
      pageToken = page.nextPageToken;
    }
    return [];
  }

  return {
    async read({ jobId, replica, cursor, countMax }) {
      const after = readCursor(cursor);
      const ofReplica = replica === undefined ? '' : ` AND labels.replica=${quote(replica)}`;
      const found = await list(`${filterOf(projectId, jobId, after)}${ofReplica}`, countMax);
      const last = found.at(-1);
      return {
        entries: found.filter(({ labels }) => labels.job_id === jobId).map(toLogEntry),
        cursor: last === undefined ? cursor : encodeCursor(last),
      };
    },
  };
}

/** The HTTP status of the response that the client threw. */
function statusOf(error: unknown): number {
  return Number((Object(error) as { readonly status?: unknown }).status);
}

/**
 * A filter in the Logging query language, whose string literals may be JSON strings. Its comparisons ignore the case of
 * letters, and regular expressions do not (docs, "Logging query language"): without one, `DIGITS` has the log of
 * `digits` too. The comparison stays, as only it uses the index.
 */
function filterOf(projectId: string, jobId: string, after: z.infer<typeof cursorSchema> | undefined): string {
  const ofJob = [`logName=${quote(`projects/${projectId}/logs/dropforge`)}`, `labels.job_id=${quote(jobId)}`];
  ofJob.push(`labels.job_id=~${quote(`^${jobId}$`)}`);
  if (after !== undefined) {
    const [at, insertId] = after.map(quote);
    ofJob.push(`(timestamp>${at} OR (timestamp=${at} AND insertId>${insertId}))`);
  }
  return ofJob.join(' AND ');
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function encodeCursor({ timestamp, insertId }: CloudEntry): string {
  return Buffer.from(JSON.stringify([timestamp, insertId])).toString('base64url');
}

/** Undefined, which reads from the start, if the cursor is empty or invalid. */
function readCursor(cursor: string): z.infer<typeof cursorSchema> | undefined {
  try {
    return cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch {
    return undefined;
  }
}

function toLogEntry({ timestamp, severity, labels, textPayload, jsonPayload }: CloudEntry): LogEntry {
  const text =
    textPayload ?? (typeof jsonPayload?.message === 'string' ? jsonPayload.message : JSON.stringify(jsonPayload ?? {}));
  const { job_id: jobId, attempt, replica, stream } = labels;
  return { jobId, attempt, replica, stream, severity: severityOf(severity), at: Date.parse(timestamp), text };
}

function severityOf(severity: string): LogEntry['severity'] {
  if (/^(ERROR|CRITICAL|ALERT|EMERGENCY)$/.test(severity)) {
    return 'ERROR';
  }
  return severity === 'WARNING' ? 'WARNING' : 'INFO';
}
