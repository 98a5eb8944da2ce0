import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { endedCountOf } from '#shared/tuning/rules/count-trial.ts';
import type { FailureTally, TuningCommon } from '#shared/tuning/tuning.ts';

/** A tuning fails when its first trials all end well without the metric: most likely its name is wrong. */
const TRIALS_WITHOUT_METRIC_MAX = 3;

/**
 * Limits that apply if the study names none: trials that have failed before the first success, or in all. Of trials
 * that started together, those that fail end first: they must not end the others, which may succeed.
 */
const FIRST_FAILURES_MAX = 3;
const FAILURES_MIN = 10;

/** Why the tuning fails because of how its trials ended; null if it goes on. */
export function failureOf(tuning: TuningCommon): Cause | null {
  const { counts, study, tuningId } = tuning;
  if (hasOnlyMissingMetrics(tuning)) {
    const cause = commonestOf(tuning.failures, ['INFEASIBLE']);
    const message = `The first ${counts.infeasible} trials of tuning ${tuningId} that ran to their end did not report its metric. ${cause?.message ?? ''}`;
    return causeOf('METRIC_NOT_REPORTED', message);
  }
  const failedCount = counts.failed + counts.infeasible;
  if (!isTooMany(failedCount, tuning)) {
    return null;
  }
  const limit = study.failedTrialsMax === null ? '' : `; the limit is ${study.failedTrialsMax}`;
  const summary = `${failedCount} of ${endedCountOf(counts)} trials of tuning ${tuningId} failed or had no usable metric${limit}.`;
  return withCommonest(summary, tuning, ['FAILED', 'INFEASIBLE']);
}

function hasOnlyMissingMetrics({ counts, failures }: TuningCommon): boolean {
  const missing = failures.find(({ cause }) => cause.code === 'METRIC_NOT_REPORTED')?.count ?? 0;
  return counts.succeeded === 0 && missing >= TRIALS_WITHOUT_METRIC_MAX && missing === counts.infeasible;
}

function isTooMany(failedCount: number, { counts, study }: TuningCommon): boolean {
  if (study.failedTrialsMax !== null) {
    return failedCount >= study.failedTrialsMax;
  }
  return counts.succeeded === 0
    ? failedCount >= Math.max(FIRST_FAILURES_MAX, study.parallelTrialsMax)
    : failedCount > FAILURES_MIN && failedCount > endedCountOf(counts) / 2;
}

/** Why a tuning fails that has ended without a trial that succeeded. */
export function noSuccessCause(tuning: TuningCommon): Cause {
  const summary = `No trial of tuning ${tuning.tuningId} succeeded.`;
  return withCommonest(summary, tuning, ['FAILED', 'INFEASIBLE', 'LOST']);
}

/** The commonest cause of these trials, whose code selects the remedy that users see. */
function withCommonest(summary: string, { failures }: TuningCommon, kinds: readonly FailureTally['kind'][]): Cause {
  const usable = failures.filter(({ cause }) => classOf(cause) !== 'cancel');
  const commonest = usable.find(({ kind }) => kinds.includes(kind));
  if (commonest === undefined) {
    return causeOf('NO_TRIAL_SUCCEEDED', summary);
  }
  const { cause, count } = commonest;
  const times = count === 1 ? 'One' : `Most often, ${count} times`;
  return causeOf(cause.code, `${summary} ${times}: ${cause.message}`, cause.evidence);
}

function commonestOf(failures: readonly FailureTally[], kinds: readonly FailureTally['kind'][]): Cause | undefined {
  return failures.find(({ kind }) => kinds.includes(kind))?.cause;
}
