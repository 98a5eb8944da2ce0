import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Study, StudyAlgorithm } from '#shared/domain/study.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote, rejectMissing } from '#shared/job-file/parser/record-findings.ts';
import { checkGrid } from '#shared/job-file/tuning/check-grid.ts';
import { checkMetrics } from '#shared/job-file/tuning/check-metrics.ts';
import { checkParameters } from '#shared/job-file/tuning/check-parameters.ts';
import { checkRecordSizes } from '#shared/job-file/tuning/check-record-sizes.ts';
import { checkStart } from '#shared/job-file/tuning/check-start.ts';
import { checkEarlyStopping, checkStoppingConditions } from '#shared/job-file/tuning/check-stopping.ts';
import {
  ALGORITHMS,
  MEASUREMENTS,
  POPULATION_BASED_TRAINING,
  resolveAlias,
} from '#shared/job-file/tuning/study-enums.ts';
import { warnOfNoEffect } from '#shared/job-file/tuning/warn-of-no-effect.ts';
import { PARALLEL_TRIALS_MAX, TRIALS_MAX } from '#shared/tuning/trial.ts';

/** Larger limits are typing errors. */
const COST_USD_MAX = 1_000_000;

/**
 * Checks a hyperparameter study by the rules of AI Platform's HyperparameterSpec and Vertex AI's StudySpec. Null if
 * there is no study, or if part of it is missing or invalid.
 */
export function checkStudy({ study, dialect }: JobDraft, findings: Findings): Study | null {
  if (study === undefined) {
    return null;
  }
  const problemCount = findings.problems.length;
  const metrics = checkMetrics(study, dialect, findings);
  const parameters = checkParameters(study, dialect, findings);
  const algorithm = checkAlgorithm(study, findings);
  const trials = checkTrials(study, dialect, findings);
  const measurement =
    study.measurement === undefined
      ? 'LAST'
      : resolveAlias(study.measurement, { aliases: MEASUREMENTS, code: 'UNKNOWN_MEASUREMENT' }, findings);
  const choices = {
    earlyStopping: checkEarlyStopping(study, parameters ?? [], findings),
    stoppingConditions: checkStoppingConditions(study.stopping, findings),
    resumeJobId: checkResumed(study.resumeJobId, findings),
    maxCostUsd: checkMaxCost(study.maxCostUsd, findings),
  };
  checkGrid({ study, algorithm, parameters: parameters ?? [], trialsMax: trials?.trialsMax ?? null }, findings);
  const start = parameters && trials && checkStart(study, { parameters, ...trials }, findings);
  if (metrics !== null && parameters !== null && trials !== null) {
    checkRecordSizes(study, { metrics, parameters, trialsMax: trials.trialsMax }, findings);
  }
  const isComplete =
    metrics !== null && parameters !== null && algorithm !== null && trials !== null && measurement !== null;
  if (!isComplete || findings.problems.length > problemCount) {
    return null;
  }
  const given = { metrics, parameters, algorithm, measurement, ...trials, ...choices, ...(start?.length && { start }) };
  return { ...given, ...warnOfNoEffect(study, given, findings) };
}

function checkAlgorithm({ algorithm }: StudyDraft, findings: Findings): StudyAlgorithm | null {
  if (algorithm === undefined) {
    return 'BAYESIAN';
  }
  if (algorithm.value === POPULATION_BASED_TRAINING) {
    const message = `${algorithm.path} asks for population based training: Bayesian optimization runs in its place, and each trial trains from scratch.`;
    const remedy = 'Remove it, or choose grid or random search; let each trial train as long as the model needs.';
    findings.warnings.push({ code: 'REPLACED_ALGORITHM', message, remedy, ...locationOf(algorithm) });
  }
  return resolveAlias(algorithm, { aliases: ALGORITHMS, code: 'UNKNOWN_ALGORITHM' }, findings);
}

type Trials = Pick<Study, 'trialsMax' | 'parallelTrialsMax' | 'failedTrialsMax'>;

/** AI Platform defaults to one trial, one at a time; Vertex AI requires both numbers. */
function checkTrials(study: StudyDraft, dialect: Dialect, findings: Findings): Trials | null {
  const { maxTrials, parallelTrials, maxFailedTrials } = study;
  const least = dialect === 'vertex-ai' ? null : 1;
  const max = checkCount(maxTrials, TRIALS_MAX, findings) ?? least;
  const parallel = checkCount(parallelTrials, PARALLEL_TRIALS_MAX, findings) ?? least;
  const failed = checkCount(maxFailedTrials, TRIALS_MAX, findings);
  if (max === null || parallel === null) {
    const job = study.path.replace(/studySpec$/, '');
    for (const [field, value] of Object.entries({ maxTrialCount: max, parallelTrialCount: parallel })) {
      if (value === null) {
        rejectMissing(`${job}${field}`, 'Write the number of trials.', findings);
      }
    }
    return null;
  }
  warnOfDefault(study, dialect, findings);
  warnOfZero(parallelTrials, findings);
  if (parallelTrials !== undefined && parallel > max) {
    const message = `${parallelTrials.path} is ${parallel}, but the study has ${max === 1 ? '1 trial' : `${max} trials`} in total.`;
    const remedy = `Write ${max} or less, or increase the number of trials.`;
    findings.warnings.push({ code: 'PARALLEL_ABOVE_MAX', message, remedy, ...locationOf(parallelTrials) });
  }
  return { trialsMax: max, parallelTrialsMax: Math.min(parallel, max), failedTrialsMax: failed };
}

function warnOfDefault(study: StudyDraft, dialect: Dialect, findings: Findings): void {
  const location = { ...locationOf(study), path: `${study.path}.${dialect === 'dropforge' ? 'trials' : 'maxTrials'}` };
  warnOfZero(study.maxTrials, findings);
  if (study.maxTrials === undefined && !hasProblemAt(location.path, findings)) {
    const message = 'No number of trials is given: the study runs one trial.';
    findings.warnings.push({
      code: 'DEFAULT_TRIALS',
      message,
      remedy: `Write ${location.path}, such as 20.`,
      ...location,
    });
  }
}

/** In proto3 a count of 0 is the same as no count. */
function checkCount(count: Located<number> | undefined, countMax: number, findings: Findings): number | null {
  if (count === undefined || count.value === 0) {
    return null;
  }
  if (count.value < 0 || count.value > countMax) {
    const message = `${count.path} must be 1 to ${countMax}, but is ${count.value}.`;
    const remedy = 'Write a number in this range.';
    findings.problems.push({ code: 'INVALID_TRIAL_COUNT', message, remedy, ...locationOf(count) });
  }
  return count.value;
}

function warnOfZero(count: Located<number> | undefined, findings: Findings): void {
  if (count?.value === 0) {
    const message = `${count.path} is 0, which is treated as 1.`;
    findings.warnings.push({ code: 'ZERO_TRIALS', message, remedy: 'Write 1 or more.', ...locationOf(count) });
  }
}

function checkResumed(jobId: Located<string> | undefined, findings: Findings): string | null {
  if (jobId === undefined || jobId.value === '' || JOB_ID_PATTERN.test(jobId.value)) {
    return jobId?.value || null;
  }
  const message = `${quote(jobId.value)} is not a valid job id: it must be a letter followed by letters, digits and underscores.`;
  const remedy = 'Write the ID of the tuning job to resume.';
  reportInvalid(jobId, { code: 'INVALID_JOB_ID', message, remedy }, findings);
  return null;
}

function checkMaxCost(cost: Located<number> | undefined, findings: Findings): number | null {
  if (cost !== undefined && !(cost.value > 0 && cost.value <= COST_USD_MAX)) {
    const message = `${cost.path} must be above 0 and at most ${COST_USD_MAX} US dollars, but is ${cost.value}.`;
    const remedy = 'Write the amount in US dollars, such as 20, or remove it for no limit.';
    findings.problems.push({ code: 'INVALID_MAX_COST', message, remedy, ...locationOf(cost) });
  }
  return cost?.value ?? null;
}
