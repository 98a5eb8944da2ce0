import type { LogEntry } from '#shared/ports/log-store.ts';

/** A line printed by the master of the example job. */
export function exampleLogEntry(text: string): LogEntry {
  return { jobId: 'digits', attempt: 1, replica: 'master-0', stream: 'stdout', severity: 'INFO', at: 1_000, text };
}
