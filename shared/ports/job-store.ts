import type { Effect } from '#shared/domain/event.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';

export type StoredJob = { readonly job: Job; readonly revision: number };

/** An effect that was committed and not yet paid. `entryId` is derived from the event, so paying twice is visible. */
export type OutboxEntry = { readonly entryId: string; readonly effect: Effect };

/** An unfinished job whose `wakeAt` has passed. */
export type DueJob = { readonly jobId: string; readonly wakeAt: TimestampMs };

/** COMMITTED: written. STALE: the revision moved on, read again. DUPLICATE: this event was handled before. */
export type CommitOutcome = 'COMMITTED' | 'STALE' | 'DUPLICATE';

/** Where jobs live. One commit holds the job, the handled event and the effects owed. */
export type JobStore = {
  /** Writes a new job with what is owed for it; EXISTS leaves the job of that id untouched. */
  create(job: Job, effects: readonly Effect[]): Promise<'CREATED' | 'EXISTS'>;
  read(jobId: string): Promise<StoredJob | undefined>;
  commit(commit: {
    readonly expectedRevision: number;
    readonly eventId: string;
    readonly job: Job;
    readonly effects: readonly Effect[];
  }): Promise<CommitOutcome>;
  /**
   * The unfinished jobs whose `wakeAt` is at or before `now`, most overdue first. Reads nothing else, and parses no
   * job: one unreadable record does not keep the others from being woken.
   */
  listDue(now: TimestampMs, countMax: number): Promise<readonly DueJob[]>;
  /** The jobs that owe effects. Reads nothing else. */
  listJobsWithOutbox(countMax: number): Promise<readonly string[]>;
  /** What one job owes, oldest first. */
  listOutbox(jobId: string): Promise<readonly OutboxEntry[]>;
  /** Ticks off a paid effect; one that is gone already is no error. */
  markPublished(jobId: string, entryId: string): Promise<void>;
  /** The newest jobs first, those of one millisecond by their id; `after` is the last job of the previous page. */
  list(page: {
    readonly countMax: number;
    readonly after?: { readonly createdAt: TimestampMs; readonly jobId: string };
  }): Promise<readonly Job[]>;
};
