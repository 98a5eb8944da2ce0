import type { Cause } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { NonFiniteValue } from '#shared/domain/replica.ts';

/** By parameter id: what one trial runs with. Inactive conditional parameters are missing. */
export type Values = Readonly<Record<string, string | number>>;

/** A metric's value as the program reported it. */
export type MetricValue = number | NonFiniteValue;

/** One report of a trial's program: the study's metrics at one step. */
export type Measurement = {
  /** As the program counts; the number of its reports if it does not report steps. */
  readonly step: number;
  /** Running time of the program over all attempts of the trial, without waiting. */
  readonly elapsedMs: number;
  readonly values: Readonly<Record<string, MetricValue>>;
};

/** Limit on the points of a curve: when it is exceeded, every other point is dropped, but not the last or the best. */
export const CURVE_POINTS_MAX = 100;

/** What a trial's program has reported so far, by increasing step. */
export type Curve = {
  readonly tuningId: string;
  readonly ordinal: number;
  /** The attempt that reported last: it replaces the points of earlier attempts from its first step on. */
  readonly attempt: number;
  readonly points: readonly Measurement[];
};

/** Why a trial whose program succeeded has no objective. */
export type InfeasibleReason = 'METRIC_MISSING' | 'NOT_FINITE' | 'UNSAFE';

/** How a trial ended, and what its end says about its values. */
export type TrialOutcome =
  | {
      readonly kind: 'SUCCEEDED';
      readonly objective: number;
      /** The values of the study's other objectives, in its order; empty if it has one. */
      readonly furtherObjectives: readonly number[];
      /** The measurement that counts: the last or the best, as the study selects. */
      readonly final: Measurement;
      readonly isStoppedEarly: boolean;
    }
  /** The program ended well, or was stopped since its loss was not finite; its values cannot be ranked. */
  | { readonly kind: 'INFEASIBLE'; readonly reason: InfeasibleReason; readonly message: string }
  /** The program failed: its values may be the reason. */
  | { readonly kind: 'FAILED'; readonly cause: Cause }
  /** Ended by the machine, the service or a user: says nothing about the values. */
  | { readonly kind: 'LOST'; readonly cause: Cause };

/** One set of values and the job that tries them. `outcome` is null until that job is closed. */
export type Trial = {
  readonly tuningId: string;
  /** From 1, in the order of suggestion; as text, the trial's id. */
  readonly ordinal: number;
  readonly jobId: string;
  readonly values: Values;
  readonly chosenAt: TimestampMs;
  /** The lost trial whose values this one repeats; null if they were suggested. */
  readonly repeats: number | null;
  /** When the program first ran; null if it has not, or until the trial has ended. */
  readonly startedAt: TimestampMs | null;
  readonly endedAt: TimestampMs | null;
  /** List price of the trial's VMs in US dollars; null until it has ended, and if a price is unknown. */
  readonly costUsd: number | null;
  readonly outcome: TrialOutcome | null;
};

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
