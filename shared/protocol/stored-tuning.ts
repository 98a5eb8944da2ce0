import { isDeepStrictEqual } from 'node:util';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { parserOf } from '#shared/protocol/stored-record.ts';
import { type Curve, curveSchema, trialSchema } from '#shared/tuning/trial.ts';
import { type Tuning, tuningSchema } from '#shared/tuning/tuning.ts';
import { type TuningEffect, tuningEffectSchema } from '#shared/tuning/tuning-effect.ts';

/**
 * Reads the records that both tuning stores keep as JSON: tunings, trials, curves and outbox entries. Their schemas
 * have defaults for fields that an older version did not write.
 */

export const parseStoredTuning = parserOf(tuningSchema, 'tuning');
export const parseStoredTrial = parserOf(trialSchema, 'trial');
export const parseStoredCurve = parserOf(curveSchema, 'curve');
export const parseStoredTuningEffect = parserOf(tuningEffectSchema, 'outbox entry');

/** Why a curve must not be written over the stored one (see `CurveStore.write`); null if that is the replaced one. */
export function findCurveConflict(
  { attempt }: Curve,
  { stored, replaced }: { readonly stored: Curve | undefined; readonly replaced: Curve | undefined },
): 'OUTDATED' | 'CONFLICT' | null {
  if (isDeepStrictEqual(stored, replaced)) {
    return null;
  }
  return stored !== undefined && stored.attempt > attempt ? 'OUTDATED' : 'CONFLICT';
}

/** The form of tunings, for their stores. */
export const TUNING_FORM: RecordForm<Tuning, TuningEffect> = {
  idField: 'tuningId',
  parse: parseStoredTuning,
  parseEffect: parseStoredTuningEffect,
};
