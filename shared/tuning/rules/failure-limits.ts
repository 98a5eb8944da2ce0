import { type Cause, type CauseCode, causeOf, classOf } from '#shared/domain/cause.ts';
import { endedCountOf } from '#shared/tuning/rules/count-trial.ts';
import type { FailureTally, TuningCommon } from '#shared/tuning/tuning.ts';

/** A tuning fails when its first trials all end well without the metric: most likely its name is wrong. */
const TRIALS_WITHOUT_METRIC_MAX = 3;

/**
 * Failures before the first success at which a tuning fails that names no limit. Of trials that started together, those
 * that fail end first: they must not end the others, which may succeed.
 */
const SHARED_FAILURES_MAX = 3;
/** If 87 % of the space fail, 30 random trials fail once in 65 tunings. */
const FAILURES_MAX = 30;

/** Causes that no values change: each trial installs and imports the same. */
const SHARED_CODES: readonly CauseCode[] = [
  'INSTALL_FAILED',
  'SETUP_TIMED_OUT',
  'PROGRAM_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'IMPORT_FAILED',
];
/** Labels of docs/diagnosis.md for failures of the program that no values change. */
const SHARED_LABELS: readonly string[] = ['permission_denied', 'no_gpu_visible', 'wrong_arch_package'];

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

/** Once a trial has succeeded, only the study's own limit applies: the search learns to avoid what fails. */
function isTooMany(failedCount: number, { counts, failures, study }: TuningCommon): boolean {
  if (study.failedTrialsMax !== null) {
    return failedCount >= study.failedTrialsMax;
  }
  const areShared = failures.every(({ kind, cause }) => kind === 'LOST' || isShared(cause));
  const limit = Math.max(areShared ? SHARED_FAILURES_MAX : FAILURES_MAX, study.parallelTrialsMax);
  return counts.succeeded === 0 && failedCount >= limit;
}

function isShared({ code, diagnosis }: Cause): boolean {
  return SHARED_CODES.includes(code) || SHARED_LABELS.includes(diagnosis?.label ?? '');
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
  return { ...cause, ...causeOf(cause.code, `${summary} ${times}: ${cause.message}`, cause.evidence) };
}

function commonestOf(failures: readonly FailureTally[], kinds: readonly FailureTally['kind'][]): Cause | undefined {
  return failures.find(({ kind }) => kinds.includes(kind))?.cause;
}
