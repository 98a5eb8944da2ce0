import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';
import { listLogEntries, listRequestSchema } from '#infra/embedded/cloud-logging/entries.ts';
import type { FileLogStore, IdentifiedLogEntry } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';

const labels = z.record(z.string(), z.string());

/** The part of `entries:write` (Cloud Logging API v2) that agents use. */
const writeRequestSchema = z.object({
  labels: labels.default({}),
  /** Whether the other entries are written where one is refused; the answer is the refusal all the same. */
  partialSuccess: z.boolean().default(false),
  entries: z
    .array(
      z.object({
        insertId: z.string().min(1).max(512),
        timestamp: z.iso.datetime({ offset: true }),
        severity: z.string().default('DEFAULT'),
        labels: labels.default({}),
        textPayload: z.string().optional(),
        jsonPayload: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .max(1_000),
});

const labelsSchema = z.object({
  job_id: z.string().regex(JOB_ID_PATTERN),
  attempt: z.coerce.number().int().min(1),
  replica: z.string().min(1),
  stream: z.enum(['stdout', 'stderr', 'agent']),
});

type WrittenEntry = z.infer<typeof writeRequestSchema>['entries'][number];

/** Cloud Logging's door: `POST /v2/entries:write` for agents into the log files, and `entries:list` for readers. */
export function createCloudLoggingServer(logs: FileLogStore, projectId: string): Hono {
  const door = new Hono();
  door.post('/v2/entries:list', async (context) => {
    const parsed = listRequestSchema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) {
      return context.json(invalid(z.prettifyError(parsed.error)), 400);
    }
    try {
      return context.json(listLogEntries(logs, parsed.data, projectId));
    } catch (error) {
      if (error instanceof HTTPException) {
        return context.json(invalid(error.message), 400);
      }
      throw error;
    }
  });
  door.post('/v2/entries:write', async (context) => {
    const parsed = writeRequestSchema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) {
      return context.json(invalid(z.prettifyError(parsed.error)), 400);
    }
    const entries: IdentifiedLogEntry[] = [];
    const refusals: string[] = [];
    for (const entry of parsed.data.entries) {
      const read = labelsSchema.safeParse({ ...parsed.data.labels, ...entry.labels });
      if (read.success) {
        entries.push(toLogEntry(entry, read.data));
      } else {
        refusals.push(`Entry ${entry.insertId}: ${z.prettifyError(read.error)}`);
      }
    }
    const [refusal] = refusals;
    if (refusal === undefined || parsed.data.partialSuccess) {
      logs.append(entries);
    }
    return refusal === undefined ? context.json({}) : context.json(invalid(refusal), 400);
  });
  return door;
}

function toLogEntry(
  entry: WrittenEntry,
  { job_id, attempt, replica, stream }: z.infer<typeof labelsSchema>,
): IdentifiedLogEntry {
  const { insertId, severity, textPayload, jsonPayload } = entry;
  const text =
    textPayload ?? (typeof jsonPayload?.message === 'string' ? jsonPayload.message : JSON.stringify(jsonPayload ?? {}));
  return {
    insertId: `${attempt}/${replica}/${insertId}`,
    jobId: job_id,
    attempt,
    replica,
    stream,
    severity:
      severity === 'WARNING' ? 'WARNING' : /^(ERROR|CRITICAL|ALERT|EMERGENCY)$/.test(severity) ? 'ERROR' : 'INFO',
    at: Date.parse(entry.timestamp),
    text,
  };
}

function invalid(message: string) {
  return { error: { code: 400, message, status: 'INVALID_ARGUMENT' } };
}
