import * as z from 'zod';
import type { Study } from '#shared/domain/study.ts';

/** Vertex AI's states of a trial (`Trial.State`), plus LOST for a trial that a machine or a user ended. */
const TRIAL_STATES = ['REQUESTED', 'ACTIVE', 'STOPPING', 'SUCCEEDED', 'INFEASIBLE', 'FAILED', 'LOST'] as const;

/** One trial of a tuning. */
export const trialViewSchema = z.object({
  /** The ordinal as text: the first trial is `1`. */
  trialId: z.string(),
  jobId: z.string(),
  state: z.enum(TRIAL_STATES),
  parameters: z.record(z.string(), z.union([z.string(), z.number()])),
  /** The measurement that counts; of a trial that has not ended, the last one. Null if there is none. */
  objective: z.number().nullable(),
  /** With several objectives, the value of each by its metric; otherwise empty. `objective` is the first. */
  objectives: z.record(z.string(), z.number().nullable()).default({}),
  step: z.number().nullable(),
  isTrialStoppedEarly: z.boolean(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  costUsd: z.number().nullable(),
  /** Why a trial is INFEASIBLE, FAILED or LOST, in one sentence. */
  reason: z.string().nullable(),
  /** The lost trial whose values this one repeats. */
  repeats: z.string().nullable(),
});

/** The fields that a tuning adds to the view of a job. */
export const tuningViewSchema = z.object({
  metricId: z.string(),
  goal: z.enum(['MAXIMIZE', 'MINIMIZE']),
  /** With several objectives, all of them; `metricId` and `goal` are the first. Otherwise empty. */
  objectives: z.array(z.object({ metricId: z.string(), goal: z.enum(['MAXIMIZE', 'MINIMIZE']) })).default([]),
  algorithm: z.string(),
  /** The rule of early stopping that is applied; null for none. */
  earlyStopping: z.enum(['MEDIAN', 'ASHA']).nullable(),
  trialsMax: z.int(),
  parallelTrialsMax: z.int(),
  /**
   * Trials that have ended, well or not, without those that were lost; AI Platform counts only those that succeeded.
   */
  endedTrialCount: z.int(),
  counts: z.object({
    succeeded: z.int(),
    stoppedEarly: z.int(),
    infeasible: z.int(),
    failed: z.int(),
    lost: z.int(),
    running: z.int(),
  }),
  /** Null with several objectives. */
  best: trialViewSchema.nullable(),
  /**
   * With several objectives, how many trials are optimal: no other trial is better in one objective and at least
   * as good in all others. With some of them, by their first objective; none in lists. Null with one objective.
   */
  optimal: z
    .object({ count: z.int(), trials: z.array(trialViewSchema) })
    .nullable()
    .default(null),
  /**
   * The trial whose values are expected to be best, given the results of all trials, with the objective that they are
   * expected to have. Set when the tuning has ended, if the metric is so noisy that another trial reported the best
   * one, which was also lucky.
   */
  recommended: z.object({ trial: trialViewSchema, expectedObjective: z.number() }).nullable().default(null),
  /** Why the tuning ended; null while it runs. */
  stopReason: z.string().nullable(),
  maxCostUsd: z.number().nullable(),
  /** From the trials that have ended; null before the first, and for a tuning that has ended. */
  forecast: z.object({ endTime: z.string().nullable(), totalUsd: z.number().nullable() }).nullable(),
  resumes: z.array(z.string()),
  /** The study as validated: descriptions in Vertex AI's form and exports show the parameters. */
  study: z.custom<Study>((value) => typeof value === 'object' && value !== null && 'parameters' in value),
});

export type TrialView = z.infer<typeof trialViewSchema>;
export type TuningView = z.infer<typeof tuningViewSchema>;
