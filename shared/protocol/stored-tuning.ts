import { isDeepStrictEqual } from 'node:util';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { parseStored } from '#shared/protocol/stored-record.ts';
import { type Curve, curveSchema, type Trial, trialSchema } from '#shared/tuning/trial.ts';
import { type Tuning, tuningSchema } from '#shared/tuning/tuning.ts';
import { type TuningEffect, tuningEffectSchema } from '#shared/tuning/tuning-effect.ts';

/**
 * Reads the records that both tuning stores keep as JSON: tunings, trials, curves and outbox entries. Their schemas
 * have defaults for fields that an older version did not write.
 */

/** Parses a stored tuning; throws an error that names the tuning and the field if no version could have written it. */
export function parseStoredTuning(json: string): Tuning {
  return parseStored(tuningSchema, json, 'tuning');
}

/** Parses a stored trial; throws like `parseStoredTuning`. */
export function parseStoredTrial(json: string): Trial {
  return parseStored(trialSchema, json, 'trial');
}

/** Parses a stored curve; throws like `parseStoredTuning`. */
export function parseStoredCurve(json: string): Curve {
  return parseStored(curveSchema, json, 'curve');
}

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

/** Parses the effect of a stored outbox entry; throws like `parseStoredTuning`. */
export function parseStoredTuningEffect(json: string): TuningEffect {
  return parseStored(tuningEffectSchema, json, 'outbox entry');
}

/** The form of tunings, for their stores. */
export const TUNING_FORM: RecordForm<Tuning, TuningEffect> = {
  idField: 'tuningId',
  parse: parseStoredTuning,
  parseEffect: parseStoredTuningEffect,
};
