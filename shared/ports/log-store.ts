/** One line that a replica's program or agent wrote. */
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

/** The store takes no more questions for a while: what was asked is to be asked again, with the same cursor. */
export class LogsBusyError extends Error {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Reads what VMs have logged. Writing is the VM's own business, through Cloud Logging's door. */
export type LogStore = {
  /** The entries after the cursor, oldest first; the empty cursor begins at the start. Throws a LogsBusyError. */
  read(query: { readonly jobId: string; readonly cursor: string; readonly countMax: number }): Promise<LogPage>;
};
