import { type Cause, causeOf } from '#shared/domain/cause.ts';
import { clip, clipLines } from '#shared/domain/job-size.ts';
import { isMultiObjective, type Study } from '#shared/domain/study.ts';
import { dominates } from '#shared/tuning/pareto.ts';
import type { InfeasibleReason, Trial, TrialOutcome } from '#shared/tuning/trial.ts';
import { costOfObjective, costsOfOutcome } from '#shared/tuning/trial-outcome.ts';
import {
  type BestTrial,
  FAILURE_TALLIES_MAX,
  type FailureTally,
  FRONT_NUMBERS_MAX,
  type Front,
  type RunningTrial,
  type TuningCommon,
  type TuningCounts,
} from '#shared/tuning/tuning.ts';
import type { TuningEventOf } from '#shared/tuning/tuning-event.ts';

/** Limits on what a tuning keeps of a trial's cause; the trial and its job have the rest. */
const KEPT_MESSAGE_BYTES_MAX = 512;
const KEPT_EVIDENCE_BYTES_MAX = 512;

/** A tuning with the end of one of its running trials counted, and that trial. */
export type Counted<T extends TuningCommon> = {
  readonly counted: T;
  readonly ended: RunningTrial;
  readonly trial: Trial;
};

/** Counts the end of a trial; undefined if the trial is not running, so that no outcome is counted twice. */
export function countTrial<T extends TuningCommon>(
  tuning: T,
  event: TuningEventOf<'TRIAL_CLOSED'>,
): Counted<T> | undefined {
  const ended = tuning.running.find(({ ordinal }) => ordinal === event.ordinal);
  if (ended === undefined) {
    return undefined;
  }
  const { outcome } = event;
  const counts = countOutcome(tuning.counts, outcome);
  const isLost = outcome.kind === 'LOST';
  const counted: T = {
    ...tuning,
    running: tuning.running.filter((one) => one !== ended),
    counts,
    lostInRow: isLost ? tuning.lostInRow + 1 : 0,
    failures: tallyFailure(tuning.failures, outcome),
    ...progressOf(tuning, event, endedCountOf(counts)),
    bar: newerBarOf(tuning, event),
    longestStep: longerOf(tuning.longestStep, event.completedStep),
    spentUsd: tuning.spentUsd + (event.costUsd ?? 0),
  };
  return { counted, ended, trial: trialOf(tuning, ended, event) };
}

function trialOf(
  { tuningId }: TuningCommon,
  { ordinal, jobId }: RunningTrial,
  { values, chosenAt, repeats, outcome, startedAt, endedAt, costUsd }: TuningEventOf<'TRIAL_CLOSED'>,
): Trial {
  return { tuningId, ordinal, jobId, values, chosenAt, repeats, startedAt, endedAt, costUsd, outcome };
}

function countOutcome(counts: TuningCounts, outcome: TrialOutcome): TuningCounts {
  switch (outcome.kind) {
    case 'SUCCEEDED': {
      const stoppedEarly = counts.stoppedEarly + (outcome.isStoppedEarly ? 1 : 0);
      return { ...counts, succeeded: counts.succeeded + 1, stoppedEarly };
    }
    case 'INFEASIBLE':
      return { ...counts, infeasible: counts.infeasible + 1 };
    case 'FAILED':
      return { ...counts, failed: counts.failed + 1 };
    default:
      return { ...counts, lost: counts.lost + 1 };
  }
}

/** Trials that have ended, without those that were lost: they say nothing about their values. */
export function endedCountOf({ succeeded, infeasible, failed }: TuningCounts): number {
  return succeeded + infeasible + failed;
}

type Progress = Pick<TuningCommon, 'best' | 'front'>;

/** With one objective, a trial is progress if it is better than the best; with several, if no earlier one dominates it. */
function progressOf(
  { best, front, study }: TuningCommon,
  { ordinal, outcome, endedAt }: TuningEventOf<'TRIAL_CLOSED'>,
  afterTrials: number,
): Progress {
  if (outcome.kind !== 'SUCCEEDED') {
    return { best, front };
  }
  const next: BestTrial = { ordinal, objective: outcome.objective, at: endedAt, afterTrials };
  if (!isMultiObjective(study)) {
    return { best: best === null || isBetter(next, best, study) ? next : best, front };
  }
  const extended = extendFront(front, costsOfOutcome(outcome, study) ?? []);
  return extended === front ? { best, front } : { best: next, front: extended };
}

/** The front with a further trial; the same object if a trial of it dominates or equals the further one. */
function extendFront(front: Front, costs: readonly number[]): Front {
  const isKnown = front.some((one) => dominates(one, costs) || one.every((cost, index) => cost === costs[index]));
  const next = [...front.filter((one) => !dominates(costs, one)), costs];
  return isKnown ? front : next.slice(-Math.max(1, Math.floor(FRONT_NUMBERS_MAX / costs.length)));
}

function isBetter(one: BestTrial, other: BestTrial, study: Study): boolean {
  return costOfObjective(one.objective, study) < costOfObjective(other.objective, study);
}

/** Ends are handled in any order: a bar of fewer trials is older. */
function newerBarOf({ bar }: TuningCommon, event: TuningEventOf<'TRIAL_CLOSED'>): TuningCommon['bar'] {
  return event.bar !== null && event.bar.completedCount >= (bar?.completedCount ?? 0) ? event.bar : bar;
}

function longerOf(longest: number | null, step: number | null): number | null {
  return longest === null || step === null ? (longest ?? step) : Math.max(longest, step);
}

/** The most frequent causes, each with its last message. A new cause replaces the rarest one if there are too many. */
function tallyFailure(failures: readonly FailureTally[], outcome: TrialOutcome): readonly FailureTally[] {
  if (outcome.kind === 'SUCCEEDED') {
    return failures;
  }
  const cause = shortened(causeOfOutcome(outcome));
  const known = failures.find(
    (tally) =>
      tally.kind === outcome.kind &&
      tally.cause.code === cause.code &&
      tally.cause.diagnosis?.label === cause.diagnosis?.label,
  );
  const others = failures.filter((tally) => tally !== known);
  const kept = known === undefined ? others.slice(0, FAILURE_TALLIES_MAX - 1) : others;
  const tally = { kind: outcome.kind, cause, count: (known?.count ?? 0) + 1 };
  return [...kept, tally].sort((a, b) => b.count - a.count);
}

const CODE_OF: Readonly<Record<InfeasibleReason, 'METRIC_NOT_REPORTED' | 'METRIC_NOT_FINITE' | 'METRIC_UNSAFE'>> = {
  METRIC_MISSING: 'METRIC_NOT_REPORTED',
  NOT_FINITE: 'METRIC_NOT_FINITE',
  UNSAFE: 'METRIC_UNSAFE',
};

export function causeOfOutcome(outcome: Exclude<TrialOutcome, { kind: 'SUCCEEDED' }>): Cause {
  return outcome.kind === 'INFEASIBLE' ? causeOf(CODE_OF[outcome.reason], outcome.message) : outcome.cause;
}

function shortened({ code, message, evidence, diagnosis }: Cause): Cause {
  const kept = clipLines(evidence, KEPT_EVIDENCE_BYTES_MAX);
  const { label = '', remedy = '', canRetryHelp = false } = diagnosis ?? {};
  return {
    code,
    message: clip(message, KEPT_MESSAGE_BYTES_MAX),
    evidence: kept,
    ...(diagnosis && { diagnosis: { label, remedy: clip(remedy, KEPT_MESSAGE_BYTES_MAX), canRetryHelp } }),
  };
}
