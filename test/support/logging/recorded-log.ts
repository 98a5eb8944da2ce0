import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { LogEntry } from './logging-query.ts';

const lineSchema = z.record(z.string(), z.unknown());

/** A line that a function wrote to standard output, or an entry of another log. */
const recordSchema = z.union([
  z.object({ scenario: z.string(), function: z.string(), line: lineSchema }),
  z.object({ scenario: z.string(), entry: lineSchema }),
]);

/**
 * Recorded from the functions of test/e2e-cloud/hybrid.test.ts, which compares their form; with changed times in "late
 * verdict and late deletion", and with the entries that VMs, Cloud Run and Compute Engine write.
 */
const FILE = new URL('../../fixtures/log-lines.jsonl', import.meta.url);

const RECORDS = readFileSync(FILE, 'utf8')
  .trimEnd()
  .split('\n')
  .map((text) => recordSchema.parse(JSON.parse(text)));

export type RecordedEntry = { readonly scenario: string; readonly entry: LogEntry };

/** The recorded lines as entries of Cloud Logging, each with what happened in it. */
export function readRecordedLog(): readonly RecordedEntry[] {
  return RECORDS.map((record) => ({
    scenario: record.scenario,
    entry: 'entry' in record ? record.entry : toLogEntry(record.function, record.line),
  }));
}

/** The recorded lines of functions in a scenario, or in all. */
export function readRecordedLines(scenario?: string): readonly LogEntry[] {
  return RECORDS.flatMap((record) =>
    'line' in record && (scenario ?? record.scenario) === record.scenario ? [record.line] : [],
  );
}

/** The names of all fields, by the kind of the line and the decision in it. */
export function fieldsByKind(lines: readonly LogEntry[]): ReadonlyMap<string, ReadonlySet<string>> {
  const kinds = Map.groupBy(lines, ({ kind, decision = '' }) => `${kind} ${decision}`);
  return new Map([...kinds].map(([kind, found]) => [kind, new Set(found.flatMap((line) => Object.keys(line)))]));
}

/**
 * A line as Cloud Run's logging agent forwards it: the special fields become those of the entry, all others its
 * `jsonPayload` (Cloud Logging docs, "Structured logging").
 */
function toLogEntry(name: string, line: LogEntry): LogEntry {
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
