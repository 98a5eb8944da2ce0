import type { TimestampMs } from '#shared/domain/job.ts';
import type { RuntimeConstraint, StoppingConditions } from '#shared/domain/study.ts';
import { endedCountOf } from '#shared/tuning/rules/count-trial.ts';
import type { Searching } from '#shared/tuning/rules/rule.ts';
import type { StopReason, TuningCommon } from '#shared/tuning/tuning.ts';

const HOUR_MS = 3_600_000;

/**
 * Why no further trial starts; null if the search goes on. The conditions are those of Vertex AI's StudyStoppingConfig:
 * none of them applies before both minimums are reached. `trialsMax` limits the suggestions instead (`trialsLeft`).
 */
export function stopReasonOf(tuning: Searching, at: TimestampMs): StopReason | null {
  const { maxCostUsd, stoppingConditions } = tuning.study;
  if (maxCostUsd !== null && costOf(tuning, at) >= maxCostUsd) {
    return 'MAX_COST';
  }
  if (stoppingConditions === null || isHeldBack(tuning, stoppingConditions, at)) {
    return null;
  }
  const { maximumRuntime, trialsWithoutProgressMax, withoutProgressMaxMs } = stoppingConditions;
  if (maximumRuntime !== null && at >= endOf(maximumRuntime, tuning)) {
    return 'MAX_RUNTIME';
  }
  return hasNoProgress(tuning, { trialsWithoutProgressMax, withoutProgressMaxMs }, at) ? 'NO_PROGRESS' : null;
}

function hasNoProgress(
  { best, counts }: Searching,
  limits: Pick<StoppingConditions, 'trialsWithoutProgressMax' | 'withoutProgressMaxMs'>,
  at: TimestampMs,
): boolean {
  if (best === null) {
    return false;
  }
  const { trialsWithoutProgressMax: trialsMax, withoutProgressMaxMs: maxMs } = limits;
  const trials = endedCountOf(counts) - best.afterTrials;
  return (trialsMax !== null && trials >= trialsMax) || (maxMs !== null && at - best.at >= maxMs);
}

function isHeldBack(tuning: Searching, conditions: StoppingConditions, at: TimestampMs): boolean {
  const { minimumRuntime, trialsMin } = conditions;
  const isTooEarly = minimumRuntime !== null && at < endOf(minimumRuntime, tuning);
  return isTooEarly || (trialsMin !== null && endedCountOf(tuning.counts) < trialsMin);
}

/** The wall-clock time since the tuning's creation counts. */
function endOf(constraint: RuntimeConstraint, { createdAt }: TuningCommon): TimestampMs {
  return 'maxMs' in constraint ? createdAt + constraint.maxMs : Date.parse(constraint.endTime);
}

/** Number of trials that may still be suggested. */
export function trialsLeft(tuning: Searching, at: TimestampMs): number {
  const { trialsMax, stoppingConditions } = tuning.study;
  const isLimited = stoppingConditions !== null && !isHeldBack(tuning, stoppingConditions, at);
  const limit = (isLimited && stoppingConditions.trialsMax) || trialsMax;
  return Math.max(0, Math.min(limit, trialsMax) - tuning.suggestedCount);
}

/**
 * List price so far, in US dollars, with what the running trials cost at most: they count from their start on, though
 * waiting for a machine costs nothing. 0 if the price is unknown.
 */
export function costOf({ spentUsd, perHourUsd, running }: TuningCommon, at: TimestampMs): number {
  const runningMs = running.reduce((sum, { since }) => sum + Math.max(0, at - since), 0);
  return spentUsd + (runningMs / HOUR_MS) * (perHourUsd ?? 0);
}

/** The next times at which a condition can begin to apply without any event, all later than `at`. */
export function stopCheckTimes(tuning: Searching, at: TimestampMs): readonly TimestampMs[] {
  const { study, best, stopReason } = tuning;
  if (stopReason !== null) {
    return [];
  }
  const { minimumRuntime, maximumRuntime, withoutProgressMaxMs } = study.stoppingConditions ?? NO_CONDITIONS;
  const times = [
    minimumRuntime === null ? null : endOf(minimumRuntime, tuning),
    maximumRuntime === null ? null : endOf(maximumRuntime, tuning),
    best === null || withoutProgressMaxMs === null ? null : best.at + withoutProgressMaxMs,
    costLimitAt(tuning, at),
  ];
  return times.filter((time) => time !== null && time > at) as number[];
}

const NO_CONDITIONS = { minimumRuntime: null, maximumRuntime: null, withoutProgressMaxMs: null } as const;

/** When the running trials reach the cost limit; null if they do not. */
function costLimitAt(tuning: Searching, at: TimestampMs): TimestampMs | null {
  const { study, perHourUsd, running } = tuning;
  const rateUsd = (perHourUsd ?? 0) * running.length;
  if (study.maxCostUsd === null || rateUsd === 0) {
    return null;
  }
  return Math.ceil(at + ((study.maxCostUsd - costOf(tuning, at)) / rateUsd) * HOUR_MS);
}
