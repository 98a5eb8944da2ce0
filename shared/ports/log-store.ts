/** One line of a replica's program or agent. */
export type LogEntry = {
  readonly jobId: string;
  readonly attempt: number;
  readonly replica: string;
  readonly stream: 'stdout' | 'stderr' | 'agent';
  readonly severity: 'INFO' | 'WARNING' | 'ERROR';
  /** Milliseconds since the Unix epoch, by the VM's clock. */
  readonly at: number;
  readonly text: string;
};

export type LogPage = { readonly entries: readonly LogEntry[]; readonly cursor: string };

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
  /** Entries after the cursor, oldest first; an empty cursor starts at the first entry. Throws LogsBusyError. */
  read(query: { readonly jobId: string; readonly cursor: string; readonly countMax: number }): Promise<LogPage>;
};
