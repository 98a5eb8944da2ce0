import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';
import type { Stated } from '#shared/domain/stated.ts';

const ordinal = z.int().min(1);
const nullableTimestamp = z.int().nullable();

/** By parameter id: what one trial runs with. Inactive conditional parameters are missing. */
const valuesSchema = z.record(z.string(), z.union([z.string(), z.number()]));
export type Values = Stated<typeof valuesSchema>;

/** A metric's value as the program reported it. */
const metricValueSchema = z.union([z.number(), z.enum(NON_FINITE_VALUES)]);
export type MetricValue = Stated<typeof metricValueSchema>;

/** One report of a trial's program: the study's metrics at one step. */
const measurementSchema = z.object({
  /** The step as the program counts; the number of its reports if it does not report steps. */
  step: z.number(),
  /** Running time of the program over all attempts of the trial, without waiting. */
  elapsedMs: z.number(),
  values: z.record(z.string(), metricValueSchema),
});
export type Measurement = Stated<typeof measurementSchema>;

/** Limit on the points of a curve: when it is exceeded, every other point is dropped, but not the last or the best. */
export const CURVE_POINTS_MAX = 100;

/** The reports of a trial's program so far, by increasing step. */
export const curveSchema = z.object({
  tuningId: z.string(),
  ordinal,
  /** The attempt that reported last: it replaces the points of earlier attempts from its first step on. */
  attempt: z.int().min(1),
  points: z.array(measurementSchema),
});
export type Curve = Stated<typeof curveSchema>;

/** Why a trial whose program succeeded has no objective. */
const infeasibleReasonSchema = z.enum(['METRIC_MISSING', 'NOT_FINITE', 'UNSAFE']);
export type InfeasibleReason = Stated<typeof infeasibleReasonSchema>;

/** How a trial ended, and what its end says about its values. */
const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('SUCCEEDED'),
    objective: z.number(),
    /** The values of the study's other objectives, in its order; older versions optimized one metric. */
    furtherObjectives: z.array(z.number()).default([]),
    /** The measurement that counts: the last or the best, as the study selects. */
    final: measurementSchema,
    isStoppedEarly: z.boolean(),
  }),
  /** The program ended well, or was stopped since its loss was not finite; its values cannot be ranked. */
  z.object({ kind: z.literal('INFEASIBLE'), reason: infeasibleReasonSchema, message: z.string() }),
  /** The program failed: its values may be the reason. */
  z.object({ kind: z.literal('FAILED'), cause: causeSchema }),
  /** Ended by the machine, the service or a user: says nothing about the values. */
  z.object({ kind: z.literal('LOST'), cause: causeSchema }),
]);
export type TrialOutcome = Stated<typeof outcomeSchema>;

/** One set of values and the job that tries them. `outcome` is null until that job is closed. */
export const trialSchema = z.object({
  tuningId: z.string(),
  /** From 1, in the order of suggestion; as text, the trial's id. */
  ordinal,
  jobId: z.string(),
  values: valuesSchema,
  chosenAt: z.int(),
  /** The lost trial whose values this one repeats; null if they were suggested. */
  repeats: ordinal.nullable(),
  /** When the program first ran; null if it has not, or until the trial has ended. */
  startedAt: nullableTimestamp,
  endedAt: nullableTimestamp,
  /** List price of the trial's VMs in US dollars; null until it has ended, and if a price is unknown. */
  costUsd: z.number().nullable(),
  outcome: outcomeSchema.nullable(),
});
export type Trial = Stated<typeof trialSchema>;

/** Job ids of trials: a tuning's id is short enough for the longest (`TRIALS_MAX`). */
export function trialJobIdOf(tuningId: string, ordinal: number): string {
  return `${tuningId}_trial_${ordinal}`;
}

/** Ids that only trials may have. */
export const TRIAL_JOB_ID_PATTERN = /_trial_\d+$/;

export const TRIALS_MAX = 10_000;
export const PARALLEL_TRIALS_MAX = 100;

/** Leaves room for `_trial_` and the ordinal of any trial, repeated ones included, within a job id's 128 characters. */
export const TUNING_ID_CHARS_MAX = 115;
