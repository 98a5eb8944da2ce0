import { HTTPException } from 'hono/http-exception';
import * as z from 'zod';
import type { FileLogStore, IdentifiedLogEntry } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { compileFilter } from '#infra/embedded/http/list-filter.ts';

/** The supported fields of `entries.list` (Cloud Logging API v2). */
export const listRequestSchema = z.object({
  resourceNames: z.array(z.string()).default([]),
  filter: z.string().max(2_048).default(''),
  orderBy: z.enum(['timestamp asc', 'timestamp desc']).default('timestamp asc'),
  pageSize: z.int().min(1).max(1_000).default(50),
  /** The number of entries on the previous pages. */
  pageToken: z
    .string()
    .regex(/^\d{1,9}$/)
    .default('0'),
});

/** Limit for the entries of a job that one request searches. */
const ENTRIES_COUNT_MAX = 100_000;

/**
 * Lists entries of one job, which the filter must name: `labels.job_id="ID"`. Filters are comparisons joined by AND and
 * OR in the logging query language. Throws an HTTPException with status 400 for other filters.
 */
export function listLogEntries(
  logs: FileLogStore,
  { filter, orderBy, pageSize, pageToken }: z.infer<typeof listRequestSchema>,
  projectId: string,
) {
  const jobId = /(?:^|[\s(])labels\.job_id\s*=\s*"([A-Za-z]\w{0,127})"/.exec(filter)?.[1];
  if (jobId === undefined) {
    throw new HTTPException(400, { message: 'The filter must name a job: labels.job_id="ID".' });
  }
  const matches = compileFilter(filter);
  const found = logs
    .listIdentified(jobId, ENTRIES_COUNT_MAX)
    .map((entry) => toResource(entry, projectId))
    .filter(matches)
    .sort((a, b) => compare(a.timestamp, b.timestamp) || compare(a.insertId, b.insertId));
  const ordered = orderBy === 'timestamp asc' ? found : found.reverse();
  const end = Number(pageToken) + pageSize;
  return {
    entries: ordered.slice(Number(pageToken), end),
    ...(end < ordered.length && { nextPageToken: String(end) }),
  };
}

function toResource({ insertId, jobId, attempt, replica, stream, ...entry }: IdentifiedLogEntry, projectId: string) {
  return {
    logName: `projects/${projectId}/logs/dropforge`,
    insertId,
    timestamp: new Date(entry.at).toISOString(),
    severity: entry.severity,
    labels: { job_id: jobId, attempt: String(attempt), replica, stream },
    textPayload: entry.text,
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
