import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

/** One line of a replica's program or agent. */
const logEntrySchema = z.object({
  jobId: z.string(),
  attempt: z.int(),
  replica: z.string(),
  stream: z.enum(['stdout', 'stderr', 'agent']),
  severity: z.enum(['INFO', 'WARNING', 'ERROR']),
  /** Milliseconds since the Unix epoch, by the VM's clock. */
  at: z.number(),
  text: z.string(),
});
export type LogEntry = Stated<typeof logEntrySchema>;

export const logPageSchema = z.object({ entries: z.array(logEntrySchema), cursor: z.string() });
export type LogPage = Stated<typeof logPageSchema>;

/** The store is rate limited: retry the read with the same cursor after `retryAfterSeconds`. */
export class LogsBusyError extends Error {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Reads the logs of VMs, which write them through the Cloud Logging API themselves. */
export type LogStore = {
  /**
   * Entries after the cursor, oldest first; an empty cursor starts at the first entry. A page without entries is at the
   * end, also if only those of one replica are read. Throws LogsBusyError.
   */
  read(query: {
    readonly jobId: string;
    readonly replica?: string | undefined;
    readonly cursor: string;
    readonly countMax: number;
  }): Promise<LogPage>;
};
