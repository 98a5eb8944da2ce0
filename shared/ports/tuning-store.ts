import type { TimestampMs } from '#shared/domain/job.ts';
import type { CommitOutcome } from '#shared/ports/job-store.ts';
import type { Curve, Trial } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';

export type StoredTuning = { readonly tuning: Tuning; readonly revision: number };
export type TuningOutboxEntry = { readonly entryId: string; readonly effect: TuningEffect };
export type DueTuning = { readonly tuningId: string; readonly wakeAt: TimestampMs };

/** Stores tunings and their trials. One commit contains both, the handled event and the outbox entries. */
export type TuningStore = {
  /** Creates a tuning with its outbox entries. EXISTS: a tuning or a job of that id exists; it was not changed. */
  create(tuning: Tuning, effects: readonly TuningEffect[]): Promise<'CREATED' | 'EXISTS'>;
  read(tuningId: string): Promise<StoredTuning | undefined>;
  commit(commit: {
    readonly expectedRevision: number;
    readonly eventId: string;
    readonly tuning: Tuning;
    /** Written as they are, whether they exist or not. */
    readonly trials: readonly Trial[];
    readonly effects: readonly TuningEffect[];
  }): Promise<CommitOutcome>;
  /** Tunings that are not closed and whose `wakeAt` is at or before `now`, most overdue first. Reads only those. */
  listDue(now: TimestampMs, countMax: number): Promise<readonly DueTuning[]>;
  /** Ids of the tunings with outbox entries. Reads only those. */
  listTuningsWithOutbox(countMax: number): Promise<readonly string[]>;
  /** Outbox entries of a tuning, oldest first. */
  listOutbox(tuningId: string): Promise<readonly TuningOutboxEntry[]>;
  /** Deletes a published entry; idempotent. */
  markPublished(tuningId: string, entryId: string): Promise<void>;
  /** Newest tunings first, then by id; `after` is the last tuning of the previous page. */
  list(page: {
    readonly countMax: number;
    readonly after?: { readonly createdAt: TimestampMs; readonly jobId: string };
  }): Promise<readonly Tuning[]>;
  readTrial(tuningId: string, ordinal: number): Promise<Trial | undefined>;
  /** Trials in the order of their ordinals, from one above `afterOrdinal`. */
  listTrials(
    tuningId: string,
    page: { readonly afterOrdinal: number; readonly countMax: number },
  ): Promise<readonly Trial[]>;
};

/** Stores what trials report: one record a trial, separate from tuning and trial, written by heartbeats. */
export type CurveStore = {
  read(tuningId: string, ordinal: number): Promise<Curve | undefined>;
  /**
   * Writes the curve in place of `replaced`, which was read before; undefined if there was none. Without writing:
   * OUTDATED, if a later attempt has written another one; CONFLICT, if the same or an earlier attempt has.
   */
  write(curve: Curve, replaced: Curve | undefined): Promise<'WRITTEN' | 'OUTDATED' | 'CONFLICT'>;
  /** The curves of these trials, in any order; missing ones are left out. At most 500 ordinals. */
  readMany(tuningId: string, ordinals: readonly number[]): Promise<readonly Curve[]>;
};
