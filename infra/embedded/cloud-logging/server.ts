import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import * as z from 'zod';
import { listLogEntries, listRequestSchema } from '#infra/embedded/cloud-logging/entries.ts';
import type { FileLogStore, IdentifiedLogEntry } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';

const labels = z.record(z.string(), z.string());

/** The fields of `entries:write` (Cloud Logging API v2) that agents use. */
const writeRequestSchema = z.object({
  labels: labels.default({}),
  /** Whether valid entries are written if another entry is invalid; the response is an error in both cases. */
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

/** The Cloud Logging emulator: `POST /v2/entries:write` for agents, `POST /v2/entries:list` for readers. */
export function createCloudLoggingServer(logs: FileLogStore, projectId: string): Hono {
  const app = new Hono();
  app.post('/v2/entries:list', async (context) => {
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
  app.post('/v2/entries:write', async (context) => {
    const parsed = writeRequestSchema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) {
      return context.json(invalid(z.prettifyError(parsed.error)), 400);
    }
    const entries: IdentifiedLogEntry[] = [];
    const problems: string[] = [];
    for (const entry of parsed.data.entries) {
      const read = labelsSchema.safeParse({ ...parsed.data.labels, ...entry.labels });
      if (read.success) {
        entries.push(toLogEntry(entry, read.data));
      } else {
        problems.push(`Entry ${entry.insertId}: ${z.prettifyError(read.error)}`);
      }
    }
    const [problem] = problems;
    if (problem === undefined || parsed.data.partialSuccess) {
      logs.append(entries);
    }
    return problem === undefined ? context.json({}) : context.json(invalid(problem), 400);
  });
  return app;
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
