import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { historySchema } from '#shared/domain/history-entry.ts';
import { submissionFields, verdictSchema } from '#shared/domain/job.ts';
import type { JobState } from '#shared/domain/job-state.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { studySchema } from '#shared/domain/study.ts';

const timestamp = z.int();
const count = z.int().min(0);
const ordinal = z.int().min(1);
const numbers = z.array(z.number());

/** A trial that was started and is not known to have ended. */
const runningTrialSchema = z.object({
  ordinal,
  jobId: z.string(),
  since: timestamp,
  /** When its job was last requested to start or to stop: both requests also report the end of a closed job. */
  checkedAt: timestamp,
  /** Whether it was asked to stop before its end. */
  isStopping: z.boolean(),
  /** Number of lost trials in a row whose values this one repeats. */
  lostBefore: count,
});
export type RunningTrial = Stated<typeof runningTrialSchema>;

/** How many trials ended with one cause code and label; the cause is that of the last one. */
const failureTallySchema = z.object({
  kind: z.enum(['INFEASIBLE', 'FAILED', 'LOST']),
  /** With a shorter message and less evidence than the trial's own. */
  cause: causeSchema,
  count,
});
export type FailureTally = Stated<typeof failureTallySchema>;

/**
 * The values to beat at each step: the median of the completed trials' running means (Vizier's median stopping rule,
 * Golovin et al. 2017, section 3.2.2), of what is minimized. Computed when a trial completes, so that a heartbeat reads
 * no curves. At most CURVE_POINTS_MAX steps.
 */
const medianBarSchema = z.object({ steps: numbers, medians: numbers, completedCount: count });
export type MedianBar = Stated<typeof medianBarSchema>;

/** One rung of ASHA (Li et al. 2020): the best values so far, of what is minimized, of the trials that reached it. */
const rungSchema = z.object({
  step: z.number(),
  reachedCount: count,
  /** The lowest values, ascending; as many as can decide whether a further one is among the best 1/3, at most 250. */
  best: numbers,
});
export type Rung = Stated<typeof rungSchema>;

const countsSchema = z.object({
  /** Trials with an objective, those stopped early included. */
  succeeded: count,
  stoppedEarly: count,
  infeasible: count,
  failed: count,
  lost: count,
});
export type TuningCounts = Stated<typeof countsSchema>;

/** The best trial; with several objectives, the last one that no trial before it dominated. */
const bestTrialSchema = z.object({
  ordinal,
  /** The first of several. */
  objective: z.number(),
  at: timestamp,
  /** Number of trials that had ended when it did, itself included; without those that were lost. */
  afterTrials: count,
});
export type BestTrial = Stated<typeof bestTrialSchema>;

/** Costs of the trials that no other one dominates, by which progress is recognized; empty with one objective. */
const frontSchema = z.array(numbers);
export type Front = Stated<typeof frontSchema>;

/** Limit on the numbers of a front. If it is exceeded, the oldest trial is forgotten, which at most hides a lack of progress. */
export const FRONT_NUMBERS_MAX = 500;

/**
 * Why a tuning ends before `trialsMax`; null if it runs all trials. Set when that is decided: trials that are running go
 * on, or are asked to stop.
 */
const stopReasonSchema = z.enum([
  'MAX_COST',
  'MAX_RUNTIME',
  'NO_PROGRESS',
  'SPACE_EXHAUSTED',
  'TRIALS_MAX',
  'FAILED',
  'CANCELLED',
]);
export type StopReason = Stated<typeof stopReasonSchema>;

/** The fields of a tuning in every status. */
export const commonSchema = z.object({
  /** `spec` is the job that every trial runs, without its values. Its study is null: `study` has it. */
  ...submissionFields,
  /** Also the job id that users see. */
  tuningId: z.string(),
  study: studySchema,
  /** Earlier tunings whose trials are known here, the nearest first; at most RESUMES_MAX. */
  resumes: z.array(z.string()),
  /** Number of trials whose values were suggested; those that repeat the values of a lost trial are not counted. */
  suggestedCount: count,
  /** The highest ordinal that a trial has or that was asked for. An ordinal is never given out twice. */
  lastOrdinal: count,
  running: z.array(runningTrialSchema),
  counts: countsSchema,
  /** Lost trials since one that was not. */
  lostInRow: count,
  /** The commonest first; at most FAILURE_TALLIES_MAX. */
  failures: z.array(failureTallySchema),
  best: bestTrialSchema.nullable(),
  front: frontSchema.default([]),
  bar: medianBarSchema.nullable(),
  rungs: z.array(rungSchema),
  /** The last step of the longest completed curve; null before the first. */
  longestStep: z.number().nullable(),
  /** List price of the VMs of one trial, in US dollars an hour; null if unknown. */
  perHourUsd: z.number().nullable(),
  /** The cost of ended trials; those of unknown price count 0. */
  spentUsd: z.number(),
  firstTrialAt: timestamp.nullable(),
  stopReason: stopReasonSchema.nullable(),
  /** The events that changed the state, oldest first: there is no room for the other events of thousands of trials. */
  history: historySchema.default([]),
});
export type TuningCommon = Stated<typeof commonSchema>;

/**
 * Hyperparameter tuning. CLOSING: the verdict is final, and trials that still run are being ended.
 * Every tuning that is not CLOSED has a deadline, `wakeAt`, at which the reconciler re-checks it.
 */
export const tuningSchema = z.discriminatedUnion('status', [
  z.object({
    ...commonSchema.shape,
    status: z.literal('SEARCHING'),
    /** The suggestions that are under way: at most one request at a time, for all free slots. */
    asked: z.object({ from: ordinal, count: ordinal, at: timestamp }).nullable(),
    /** Whether there are no more values to try. */
    isExhausted: z.boolean(),
    /** Suggestion requests in a row that no delivery could handle. */
    suggestFailuresInRow: count,
    wakeAt: timestamp,
  }),
  z.object({ ...commonSchema.shape, status: z.literal('CLOSING'), verdict: verdictSchema, wakeAt: timestamp }),
  z.object({ ...commonSchema.shape, status: z.literal('CLOSED'), verdict: verdictSchema, endedAt: timestamp }),
]);
export type Tuning = Stated<typeof tuningSchema>;

export type TuningStatus = Tuning['status'];
export type TuningIn<S extends TuningStatus> = Extract<Tuning, { status: S }>;

export const RESUMES_MAX = 10;
export const FAILURE_TALLIES_MAX = 8;

/** The state that users see. */
export function stateOfTuning(tuning: Tuning): JobState {
  switch (tuning.status) {
    case 'CLOSED':
      return tuning.verdict.state;
    case 'CLOSING':
      return tuning.verdict.state === 'CANCELLED' ? 'CANCELLING' : 'RUNNING';
    default:
      return tuning.suggestedCount === 0 ? 'QUEUED' : 'RUNNING';
  }
}
