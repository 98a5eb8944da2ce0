import type { Cause } from '#shared/domain/cause.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import type { JobSource, PackageRef, TimestampMs, Verdict, Warning } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobState } from '#shared/domain/job-state.ts';
import type { Study } from '#shared/domain/study.ts';
import type { TrialOutcome } from '#shared/tuning/trial.ts';

/** A trial that was started and is not known to have ended. */
export type RunningTrial = {
  readonly ordinal: number;
  readonly jobId: string;
  readonly since: TimestampMs;
  /** When its job was last requested to start or to stop: both requests also report the end of a closed job. */
  readonly checkedAt: TimestampMs;
  /** Whether it was asked to stop before its end. */
  readonly isStopping: boolean;
  /** Number of lost trials in a row whose values this one repeats. */
  readonly lostBefore: number;
};

/** How many trials ended with one cause code and label; the cause is that of the last one. */
export type FailureTally = {
  readonly kind: Exclude<TrialOutcome['kind'], 'SUCCEEDED'>;
  /** With a shorter message and less evidence than the trial's own. */
  readonly cause: Cause;
  readonly count: number;
};

/**
 * The values to beat at each step: the median of the completed trials' running means (Vizier's median stopping rule,
 * Golovin et al. 2017, section 3.2.2), of what is minimized. Computed when a trial completes, so that a heartbeat reads
 * no curves. At most CURVE_POINTS_MAX steps.
 */
export type MedianBar = {
  readonly steps: readonly number[];
  readonly medians: readonly number[];
  readonly completedCount: number;
};

/** One rung of ASHA (Li et al. 2020): the best values so far, of what is minimized, of the trials that reached it. */
export type Rung = {
  readonly step: number;
  readonly reachedCount: number;
  /** The lowest values, ascending; as many as can decide whether a further one is among the best 1/3, at most 250. */
  readonly best: readonly number[];
};

export type TuningCounts = {
  /** Trials with an objective, those stopped early included. */
  readonly succeeded: number;
  readonly stoppedEarly: number;
  readonly infeasible: number;
  readonly failed: number;
  readonly lost: number;
};

/** The best trial; with several objectives, the last one that no trial before it dominated. */
export type BestTrial = {
  readonly ordinal: number;
  /** The first of several. */
  readonly objective: number;
  readonly at: TimestampMs;
  /** Number of trials that had ended when it did, itself included; without those that were lost. */
  readonly afterTrials: number;
};

/** Costs of the trials that no other one dominates, by which progress is recognized; empty with one objective. */
export type Front = readonly (readonly number[])[];

/** Limit on the numbers of a front. If it is exceeded, the oldest trial is forgotten, which at most hides a lack of progress. */
export const FRONT_NUMBERS_MAX = 500;

/**
 * Why a tuning ends before `trialsMax`; null if it runs all trials. Set when that is decided: trials that are running go
 * on, or are asked to stop.
 */
export type StopReason =
  | 'MAX_COST'
  | 'MAX_RUNTIME'
  | 'NO_PROGRESS'
  | 'SPACE_EXHAUSTED'
  | 'TRIALS_MAX'
  | 'FAILED'
  | 'CANCELLED';

export type TuningCommon = {
  /** Also the job id that users see. */
  readonly tuningId: string;
  /** The job that every trial runs, without its values. `spec.study` is null: `study` has it. */
  readonly spec: JobSpec;
  readonly study: Study;
  readonly packages: readonly PackageRef[];
  readonly zones: readonly string[];
  readonly source: JobSource;
  readonly warnings: readonly Warning[];
  readonly createdAt: TimestampMs;
  /** Earlier tunings whose trials are known here, the nearest first; at most RESUMES_MAX. */
  readonly resumes: readonly string[];
  /** Number of trials whose values were suggested; those that repeat the values of a lost trial are not counted. */
  readonly suggestedCount: number;
  /** The highest ordinal that a trial has or that was asked for. An ordinal is never given out twice. */
  readonly lastOrdinal: number;
  readonly running: readonly RunningTrial[];
  readonly counts: TuningCounts;
  /** Lost trials since one that was not. */
  readonly lostInRow: number;
  /** The commonest first; at most FAILURE_TALLIES_MAX. */
  readonly failures: readonly FailureTally[];
  readonly best: BestTrial | null;
  readonly front: Front;
  readonly bar: MedianBar | null;
  readonly rungs: readonly Rung[];
  /** The last step of the longest completed curve; null before the first. */
  readonly longestStep: number | null;
  /** List price of the VMs of one trial, in US dollars an hour; null if unknown. */
  readonly perHourUsd: number | null;
  /** The cost of ended trials; those of unknown price count 0. */
  readonly spentUsd: number;
  readonly firstTrialAt: TimestampMs | null;
  readonly stopReason: StopReason | null;
  /** The events that changed the state, oldest first: thousands of trials would leave no room for it. */
  readonly history: readonly HistoryEntry[];
};

/**
 * Hyperparameter tuning. CLOSING: the verdict is final, and trials that still run are being ended.
 * Every tuning that is not CLOSED has a deadline, `wakeAt`, at which the reconciler re-checks it.
 */
export type Tuning =
  | (TuningCommon & {
      readonly status: 'SEARCHING';
      /** The suggestions that are under way: at most one request at a time, for all free slots. */
      readonly asked: { readonly from: number; readonly count: number; readonly at: TimestampMs } | null;
      /** Whether there are no more values to try. */
      readonly isExhausted: boolean;
      /** Suggestion requests in a row that no delivery could handle. */
      readonly suggestFailuresInRow: number;
      readonly wakeAt: TimestampMs;
    })
  | (TuningCommon & { readonly status: 'CLOSING'; readonly verdict: Verdict; readonly wakeAt: TimestampMs })
  | (TuningCommon & { readonly status: 'CLOSED'; readonly verdict: Verdict; readonly endedAt: TimestampMs });

export const TUNING_STATUSES = ['SEARCHING', 'CLOSING', 'CLOSED'] as const satisfies readonly Tuning['status'][];
export type TuningStatus = (typeof TUNING_STATUSES)[number];
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
