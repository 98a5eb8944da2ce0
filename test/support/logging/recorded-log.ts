import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { LogEntry } from './logging-query.ts';

/** A line that a function wrote to standard output, or an entry of another log. */
const recordSchema = z.union([
  z.object({ function: z.string(), line: z.record(z.string(), z.unknown()) }),
  z.object({ entry: z.record(z.string(), z.unknown()) }),
]);

const FILE = new URL('../../fixtures/log-lines.json', import.meta.url);

export type RecordedEntry = { readonly scenario: string; readonly entry: LogEntry };

/** The recorded lines as entries of Cloud Logging, each with what happened in it. */
export function readRecordedLog(): readonly RecordedEntry[] {
  const scenarios = z.record(z.string(), z.array(recordSchema)).parse(JSON.parse(readFileSync(FILE, 'utf8')));
  return Object.entries(scenarios).flatMap(([scenario, records]) =>
    records.map((record) => ({
      scenario,
      entry: 'entry' in record ? record.entry : toLogEntry(record.function, record.line),
    })),
  );
}

/**
 * A line as Cloud Run's logging agent forwards it: the special fields become those of the entry, all others its
 * `jsonPayload` (Cloud Logging docs, "Structured logging").
 */
export function toLogEntry(name: string, line: LogEntry): LogEntry {
  const {
    severity = 'DEFAULT',
    'logging.googleapis.com/labels': labels = {},
    'logging.googleapis.com/trace': trace,
    'logging.googleapis.com/spanId': spanId,
    ...jsonPayload
  } = line;
  return {
    logName: 'projects/my-project/logs/run.googleapis.com%2Fstdout',
    resource: { type: 'cloud_run_revision', labels: { project_id: 'my-project', service_name: `dropforge-${name}` } },
    ...{ severity, labels, trace, spanId, jsonPayload },
  };
}
