import type { RecordStore } from '#shared/machine/record-store.ts';
import type { Curve, Trial } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';

/**
 * The facts that are committed with a tuning: the trials that were added or changed, written whether they exist or not.
 */
export type TuningFacts = { readonly trials: readonly Trial[] };

/** Stores tunings and their trials. */
export type TuningStore = RecordStore<Tuning, TuningEffect, TuningFacts> & {
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
