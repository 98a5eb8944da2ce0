/** RECORD: the job or tuning itself, or the job of a trial. HEARTBEAT: what one of its VMs reported. */
export type ChangeKind = 'RECORD' | 'HEARTBEAT';

export type Change = {
  readonly jobId: string;
  readonly kind: ChangeKind;
  /** Differs from that of every other change of this job and kind. */
  readonly version: string;
};

export type Changes = {
  /** May repeat a change of an earlier answer, with the same version. */
  readonly changes: readonly Change[];
  /** Whether anything may have changed: the marker is missing, too old or of another database, or too much changed. */
  readonly isEverything: boolean;
  /** The position after this answer, from which the next one continues. */
  readonly marker: string;
  /** How long to wait before the next request. */
  readonly pollAfterMs: number;
};

/** Lists which jobs and tunings changed, at a cost that depends on the changes alone, not on the jobs there are. */
export type ChangeFeed = {
  /** Lists what changed after the answer with this marker; with a job id, of this job or tuning only. */
  list(query: { readonly marker: string | undefined; readonly jobId?: string | undefined }): Promise<Changes>;
};

/** Above it, an answer says that everything may have changed. */
export const CHANGES_MAX = 100;
