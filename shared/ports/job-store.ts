import type { Effect } from '#shared/domain/effect.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import type { VmLimits, VmUsage } from '#shared/domain/vm-limits.ts';
import type { WaitingJob } from '#shared/domain/waiting-order.ts';

export type StoredJob = { readonly job: Job; readonly revision: number };

/**
 * An effect that was committed and not yet published. `entryId` is derived from the event, so duplicates are
 * recognizable.
 */
export type OutboxEntry = { readonly entryId: string; readonly effect: Effect };

/** An unfinished job whose `wakeAt` has passed. */
export type DueJob = { readonly jobId: string; readonly wakeAt: TimestampMs };

/**
 * COMMITTED: written. STALE: the revision has changed, read again. DUPLICATE: this event was handled before.
 * OVER_LIMIT: the VMs of all jobs together would exceed a limit.
 */
export type CommitOutcome = 'COMMITTED' | 'STALE' | 'DUPLICATE' | 'OVER_LIMIT';

/** Stores jobs. One commit contains the job, the handled event and the outbox entries. */
export type JobStore = {
  /** Creates a job with its outbox entries. EXISTS: a job or a tuning of that id exists; it was not changed. */
  create(job: Job, effects: readonly Effect[]): Promise<'CREATED' | 'EXISTS'>;
  read(jobId: string): Promise<StoredJob | undefined>;
  commit(commit: {
    readonly expectedRevision: number;
    readonly eventId: string;
    readonly job: Job;
    readonly effects: readonly Effect[];
    /** The job uses this from now on. If it is missing, the job uses what it used before. */
    readonly usage?: VmUsage | undefined;
    /** The commit is rejected if more is used than before, and more than this by all jobs together. */
    readonly limits?: VmLimits | undefined;
  }): Promise<CommitOutcome>;
  /** Returns the sum of what all jobs use, which each commit of a job updates. */
  readUsage(): Promise<VmUsage>;
  /** Unfinished jobs whose `wakeAt` is at or before `now`, most overdue first. Reads only those. */
  listDue(now: TimestampMs, countMax: number): Promise<readonly DueJob[]>;
  /** The jobs that wait for others to end (`isWaiting`), in their order (`isBefore`). Reads only those. */
  listWaiting(countMax: number): Promise<readonly WaitingJob[]>;
  /** Ids of the jobs with outbox entries. Reads only those. */
  listJobsWithOutbox(countMax: number): Promise<readonly string[]>;
  /** Outbox entries of a job, oldest first. */
  listOutbox(jobId: string): Promise<readonly OutboxEntry[]>;
  /** Deletes a published entry; idempotent. */
  markPublished(jobId: string, entryId: string): Promise<void>;
  /**
   * The jobs that users submitted, without those of trials, newest first, then by id; `after` is the last job of the
   * previous page.
   */
  list(page: {
    readonly countMax: number;
    readonly after?: { readonly createdAt: TimestampMs; readonly jobId: string };
  }): Promise<readonly Job[]>;
};
