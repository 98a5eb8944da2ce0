import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { historySchema } from '#shared/domain/history-entry.ts';
import { studySchema } from '#shared/domain/study.ts';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { parseStored, storedSubmission, storedVerdictSchema } from '#shared/protocol/stored-record.ts';
import { type Curve, curveSchema, type Trial, trialSchema } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { type TuningEffect, tuningEffectSchema } from '#shared/tuning/tuning-effect.ts';

/**
 * The stored form of the records that both tuning stores keep as JSON: tunings, trials, curves and outbox entries. Only
 * this module knows it: a field that an older version did not write gets its default here.
 */

const timestamp = z.int();
const count = z.int().min(0);
const ordinal = z.int().min(1);
const nullableNumber = z.number().nullable();
const nullableTimestamp = timestamp.nullable();

const tuningCommon = {
  ...storedSubmission,
  tuningId: z.string(),
  study: studySchema,
  resumes: z.array(z.string()),
  suggestedCount: count,
  lastOrdinal: count,
  running: z.array(
    z.object({
      ordinal,
      jobId: z.string(),
      since: timestamp,
      checkedAt: timestamp,
      isStopping: z.boolean(),
      lostBefore: count,
    }),
  ),
  counts: z.object({ succeeded: count, stoppedEarly: count, infeasible: count, failed: count, lost: count }),
  lostInRow: count,
  failures: z.array(z.object({ kind: z.enum(['INFEASIBLE', 'FAILED', 'LOST']), cause: causeSchema, count })),
  best: z.object({ ordinal, objective: z.number(), at: timestamp, afterTrials: count }).nullable(),
  front: z.array(z.array(z.number())).default([]),
  bar: z.object({ steps: z.array(z.number()), medians: z.array(z.number()), completedCount: count }).nullable(),
  rungs: z.array(z.object({ step: z.number(), reachedCount: count, best: z.array(z.number()) })),
  longestStep: nullableNumber,
  perHourUsd: nullableNumber,
  spentUsd: z.number(),
  firstTrialAt: nullableTimestamp,
  stopReason: z
    .enum(['MAX_COST', 'MAX_RUNTIME', 'NO_PROGRESS', 'SPACE_EXHAUSTED', 'TRIALS_MAX', 'FAILED', 'CANCELLED'])
    .nullable(),
  history: historySchema.default([]),
};

const tuningSchema = z.discriminatedUnion('status', [
  z.object({
    ...tuningCommon,
    status: z.literal('SEARCHING'),
    asked: z.object({ from: ordinal, count: ordinal, at: timestamp }).nullable(),
    isExhausted: z.boolean(),
    suggestFailuresInRow: count,
    wakeAt: timestamp,
  }),
  z.object({ ...tuningCommon, status: z.literal('CLOSING'), verdict: storedVerdictSchema, wakeAt: timestamp }),
  z.object({ ...tuningCommon, status: z.literal('CLOSED'), verdict: storedVerdictSchema, endedAt: timestamp }),
]) satisfies z.ZodType<Tuning>;

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
