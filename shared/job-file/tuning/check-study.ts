import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Parameter, Study, StudyAlgorithm } from '#shared/domain/study.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { checkMetrics } from '#shared/job-file/tuning/check-metrics.ts';
import { checkParameters } from '#shared/job-file/tuning/check-parameters.ts';
import { checkEarlyStopping, checkStoppingConditions } from '#shared/job-file/tuning/check-stopping.ts';
import { ALGORITHMS, chooseMeaning, MEASUREMENTS } from '#shared/job-file/tuning/study-enums.ts';

/** No study of either service ran as many; what a plan or a price is multiplied by needs a bound. */
const TRIALS_COUNT_MAX = 10_000;

/**
 * The hyperparameters to be tuned, by the rules of AI Platform's HyperparameterSpec and Vertex AI's StudySpec. Null
 * where there are none, and where something about them is missing or wrong, which is then among the findings.
 */
export function checkStudy({ study, dialect }: JobDraft, findings: Findings): Study | null {
  if (study === undefined) {
    return null;
  }
  const problemCount = findings.problems.length;
  const metrics = checkMetrics(study, dialect, findings);
  const parameters = checkParameters(study, dialect, findings);
  const algorithm =
    study.algorithm === undefined
      ? 'BAYESIAN'
      : chooseMeaning(study.algorithm, { meanings: ALGORITHMS, code: 'UNKNOWN_ALGORITHM' }, findings);
  const trials = checkTrials(study, dialect, findings);
  const measurement =
    study.measurement === undefined
      ? 'LAST'
      : chooseMeaning(study.measurement, { meanings: MEASUREMENTS, code: 'UNKNOWN_MEASUREMENT' }, findings);
  const choices = {
    earlyStopping: checkEarlyStopping(study, parameters ?? [], findings),
    stoppingConditions: checkStoppingConditions(study.stopping, findings),
    resumeJobId: checkResumed(study.resumeJobId, findings),
  };
  checkGrid({ study, algorithm, parameters: parameters ?? [] }, findings);
  const isComplete =
    metrics !== null && parameters !== null && algorithm !== null && trials !== null && measurement !== null;
  return isComplete && findings.problems.length === problemCount
    ? { metrics, parameters, algorithm, measurement, ...trials, ...choices }
    : null;
}

type Trials = Pick<Study, 'trialsMax' | 'parallelTrialsMax' | 'failedTrialsMax'>;

/** AI Platform has one trial at a time and one in all where nothing is said; Vertex AI wants both numbers. */
function checkTrials(study: StudyDraft, dialect: Dialect, findings: Findings): Trials | null {
  const { maxTrials, parallelTrials, maxFailedTrials } = study;
  const least = dialect === 'vertex-ai' ? null : 1;
  const max = checkCount(maxTrials, findings) ?? least;
  const parallel = checkCount(parallelTrials, findings) ?? least;
  const failed = checkCount(maxFailedTrials, findings);
  if (max === null || parallel === null) {
    const job = study.path.replace(/studySpec$/, '');
    noteMissing(`${job}maxTrialCount`, max, findings);
    noteMissing(`${job}parallelTrialCount`, parallel, findings);
    return null;
  }
  noteDefault(study, dialect, findings);
  noteZero(parallelTrials, findings);
  if (parallelTrials !== undefined && parallel > max) {
    const message = `${parallelTrials.path} is ${parallel}, and there ${max === 1 ? 'is 1 trial' : `are ${max} trials`} in all.`;
    const remedy = `Write ${max} or less, or allow more trials.`;
    findings.warnings.push({ code: 'PARALLEL_ABOVE_MAX', message, remedy, ...locationOf(parallelTrials) });
  }
  return { trialsMax: max, parallelTrialsMax: Math.min(parallel, max), failedTrialsMax: failed };
}

/** One trial tunes nothing. */
function noteDefault({ maxTrials, path, line }: StudyDraft, dialect: Dialect, findings: Findings): void {
  const place = {
    path: `${path}.${dialect === 'dropforge' ? 'trials' : 'maxTrials'}`,
    ...(line !== undefined && { line }),
  };
  noteZero(maxTrials, findings);
  if (maxTrials === undefined && !hasProblemAt(place.path, findings)) {
    const message = 'No number of trials is given: there is one.';
    findings.warnings.push({ code: 'DEFAULT_TRIALS', message, remedy: `Write ${place.path}, such as 20.`, ...place });
  }
}

/** 0 is nothing said, as in proto3: then it is null. */
function checkCount(count: Located<number> | undefined, findings: Findings): number | null {
  if (count === undefined || count.value === 0) {
    return null;
  }
  if (count.value < 0 || count.value > TRIALS_COUNT_MAX) {
    const message = `${count.path} must be 1 to ${TRIALS_COUNT_MAX}, but is ${count.value}.`;
    const remedy = 'Write a number between the two.';
    findings.problems.push({ code: 'INVALID_TRIAL_COUNT', message, remedy, ...locationOf(count) });
  }
  return count.value;
}

function noteMissing(path: string, count: number | null, findings: Findings): void {
  if (count === null) {
    const remedy = 'Write how many trials there are to be.';
    findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
  }
}

function noteZero(count: Located<number> | undefined, findings: Findings): void {
  if (count?.value === 0) {
    const message = `${count.path} is 0, which is taken for 1.`;
    findings.warnings.push({ code: 'ZERO_TRIALS', message, remedy: 'Write 1 or more.', ...locationOf(count) });
  }
}

function checkResumed(jobId: Located<string> | undefined, findings: Findings): string | null {
  if (jobId === undefined || jobId.value === '' || JOB_ID_PATTERN.test(jobId.value)) {
    return jobId?.value || null;
  }
  const message = `${quote(jobId.value)} is no job id: it must be a letter, then letters, digits and underscores.`;
  const remedy = 'Write the id of the tuning job to go on from.';
  reportInvalid(jobId, { code: 'INVALID_JOB_ID', message, remedy }, findings);
  return null;
}

type Grid = {
  readonly study: StudyDraft;
  readonly algorithm: StudyAlgorithm | null;
  readonly parameters: readonly Parameter[];
};

/** Both services say so of GRID_SEARCH: a range of real numbers has no grid. */
function checkGrid({ study, algorithm, parameters }: Grid, findings: Findings): void {
  const range = algorithm === 'GRID' ? findDouble(parameters) : undefined;
  if (range !== undefined && study.algorithm !== undefined) {
    const message = `A grid has no room for the parameter ${quote(range.id)}, which is of type DOUBLE.`;
    const remedy = 'Give it a list of values, as type DISCRETE, or choose another algorithm.';
    findings.problems.push({ code: 'GRID_OF_DOUBLES', message, remedy, ...locationOf(study.algorithm) });
  }
}

function findDouble(parameters: readonly Parameter[]): Parameter | undefined {
  const own = parameters.find(({ space }) => space.kind === 'DOUBLE');
  return own ?? (parameters.length === 0 ? undefined : findDouble(parameters.flatMap(childrenOf)));
}

function childrenOf({ children }: Parameter): readonly Parameter[] {
  return children.map(({ parameter }) => parameter);
}
