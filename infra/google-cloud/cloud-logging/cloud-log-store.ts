import type { GoogleAuth } from 'google-auth-library';
import { z } from 'zod';
import { type LogEntry, type LogStore, LogsBusyError } from '#shared/ports/log-store.ts';

export type CloudLogStoreOptions = {
  readonly projectId: string;
  /** Where Cloud Logging is, without a slash at the end. */
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

/** `entries.list` may find nothing in the part that it searched, and go on with a token (API docs, "nextPageToken"). */
const EMPTY_PAGES_MAX = 20;

const LIST_MS_MAX = 60_000;

/** A passing fault is tried again at once. 429 is not: it says that there were too many requests already. */
const RETRY_CONFIG = {
  retry: 3,
  httpMethodsToRetry: ['POST'],
  statusCodesToRetry: [
    [408, 408],
    [500, 599],
  ],
};

const TOO_MANY_REQUESTS = 429;

/** The quota is one a minute (docs, "Quotas and limits"): by then, a part of it is free again. */
const RETRY_AFTER_SECONDS = 15;

/** The last entry that was read: entries of one time come by their insertId (API docs, "orderBy"). */
const cursorSchema = z.tuple([z.iso.datetime({ offset: true }), z.string().min(1)]);

/**
 * What VMs have written, from Cloud Logging (`entries.list`). A cursor is the last entry's time and id, so that it is good
 * as long as the log is. A line that arrives later than newer ones of another VM is seen by whoever reads anew.
 */
export function createCloudLogStore({ projectId, url, auth }: CloudLogStoreOptions): LogStore {
  async function ask(body: object): Promise<z.infer<typeof pageSchema>> {
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
        const message = `Cloud Logging takes no more reads of ${projectId} this minute.`;
        throw new LogsBusyError(message, RETRY_AFTER_SECONDS);
      }
      throw error;
    }
  }

  async function list(filter: string, countMax: number): Promise<readonly CloudEntry[]> {
    let pageToken: string | undefined;
    for (let pages = 0; pages < EMPTY_PAGES_MAX; pages += 1) {
      const page = await ask({
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
    async read({ jobId, cursor, countMax }) {
      const after = readCursor(cursor);
      const found = await list(filterOf(projectId, jobId, after), countMax);
      const last = found.at(-1);
      return {
        entries: found.map(toLogEntry),
        cursor: last === undefined ? cursor : encodeCursor(last),
      };
    },
  };
}

/** The HTTP status of an answer that the client did not take. */
function statusOf(error: unknown): number {
  return Number((Object(error) as { readonly status?: unknown }).status);
}

/** Logging query language; values are JSON strings, which it reads as its own. */
function filterOf(projectId: string, jobId: string, after: z.infer<typeof cursorSchema> | undefined): string {
  const ofJob = [`logName=${quote(`projects/${projectId}/logs/dropforge`)}`, `labels.job_id=${quote(jobId)}`];
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

/** A cursor that was never given out begins at the start. */
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
