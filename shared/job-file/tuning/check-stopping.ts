import type { EarlyStopping, Parameter, RuntimeConstraint, StoppingConditions } from '#shared/domain/study.ts';
import { parseDurationMs, suggestDuration } from '#shared/job-file/draft/duration.ts';
import type {
  EarlyStoppingDraft,
  RuntimeConstraintDraft,
  StoppingDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** RFC 3339, the JSON format of a Timestamp. */
const TIMESTAMP_PATTERN = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** The rule for stopping trials early; null if there is none. */
export function checkEarlyStopping(
  { earlyStopping }: StudyDraft,
  parameters: readonly Parameter[],
  findings: Findings,
): EarlyStopping | null {
  if (earlyStopping === undefined) {
    return null;
  }
  const rule = earlyStopping.rule.value;
  const usesElapsedTime = earlyStopping.usesElapsedTime?.value ?? false;
  warnOfReplacedRule(earlyStopping, findings);
  switch (rule) {
    case 'AUTOMATIC':
    case 'ASHA':
      return { rule };
    case 'DECAY_CURVE':
    case 'MEDIAN':
      return { rule, usesElapsedTime };
    case 'CONVEX':
      return {
        rule,
        usesElapsedTime,
        ...checkSteps(earlyStopping, findings),
        learningRateParameterId: checkLearningRate(earlyStopping, parameters, findings),
        updatesAllStoppedTrials: earlyStopping.updatesAllStoppedTrials?.value ?? false,
      };
  }
}

/** Vertex AI's rules that extrapolate the curve of a trial. AI Platform does not say which rule AUTOMATIC is. */
function warnOfReplacedRule({ rule }: EarlyStoppingDraft, findings: Findings): void {
  if (rule.value === 'DECAY_CURVE' || rule.value === 'CONVEX') {
    const settings = rule.value === 'CONVEX' ? ', and its settings have no effect except useElapsedDuration' : '';
    const message = `${rule.path} runs as the median rule, which compares trials at equal steps${settings}.`;
    const remedy = 'Write medianAutomatedStoppingSpec, or remove it to run all trials to their end.';
    findings.warnings.push({ code: 'EARLY_STOPPING_RULE', message, remedy, ...locationOf(rule) });
  }
}

/** ConvexAutomatedStoppingSpec: the minimum number of steps may be 0, and is at most the maximum. */
function checkSteps({ stepsMax, stepsMin, measurementsMin }: EarlyStoppingDraft, findings: Findings) {
  checkOrder(stepsMin, stepsMax, findings);
  return {
    stepsMax: checkAtLeast(stepsMax, 1, findings),
    stepsMin: checkAtLeast(stepsMin, 0, findings),
    measurementsMin: checkAtLeast(measurementsMin, 0, findings),
  };
}

function checkLearningRate(
  { learningRateParameterId }: EarlyStoppingDraft,
  parameters: readonly Parameter[],
  findings: Findings,
): string | null {
  if (learningRateParameterId === undefined || learningRateParameterId.value === '') {
    return null;
  }
  const known = parameters.map(({ id }) => id);
  if (!known.includes(learningRateParameterId.value)) {
    const message = `${learningRateParameterId.path} is not a parameter of the study: ${quote(learningRateParameterId.value)}.`;
    const remedy = `${didYouMean(learningRateParameterId.value, known)}Write the parameterId of the learning rate, or remove it.`;
    reportInvalid(learningRateParameterId, { code: 'UNKNOWN_PARAMETER', message, remedy }, findings);
  }
  return learningRateParameterId.value;
}

/** The conditions for stopping the whole study early; null if there are none. */
export function checkStoppingConditions(
  stopping: StoppingDraft | undefined,
  findings: Findings,
): StoppingConditions | null {
  if (stopping === undefined) {
    return null;
  }
  checkOrder(stopping.trialsMin, stopping.trialsMax, findings);
  return {
    stopsRunningTrials: stopping.stopsRunningTrials?.value ?? false,
    minimumRuntime: checkConstraint(stopping.minimumRuntime, findings),
    maximumRuntime: checkConstraint(stopping.maximumRuntime, findings),
    trialsMin: checkAtLeast(stopping.trialsMin, 0, findings),
    trialsMax: checkAtLeast(stopping.trialsMax, 1, findings),
    trialsWithoutProgressMax: checkAtLeast(stopping.trialsWithoutProgressMax, 1, findings),
    withoutProgressMaxMs: checkDuration(stopping.withoutProgressMax, findings),
  };
}

/** StudyTimeConstraint: a oneof. */
function checkConstraint(constraint: RuntimeConstraintDraft | undefined, findings: Findings): RuntimeConstraint | null {
  const { maxDuration, endTime } = constraint ?? {};
  if (endTime !== undefined && maxDuration !== undefined) {
    const message = `${endTime.path} cannot be combined with ${maxDuration.path}.`;
    const remedy = 'Remove one of the two.';
    findings.problems.push({ code: 'STOPPING_CONDITION', message, remedy, ...locationOf(endTime) });
    return null;
  }
  if (endTime === undefined) {
    const maxMs = checkDuration(maxDuration, findings);
    return maxMs === null ? null : { maxMs };
  }
  if (TIMESTAMP_PATTERN.test(endTime.value) && Number.isFinite(Date.parse(endTime.value))) {
    return { endTime: endTime.value };
  }
  const message = `${endTime.path} is not a valid timestamp: ${quote(endTime.value)}.`;
  const remedy = 'Write a timestamp such as 2030-01-31T18:00:00Z.';
  reportInvalid(endTime, { code: 'INVALID_TIME', message, remedy }, findings);
  return null;
}

function checkDuration(given: Located<string> | undefined, findings: Findings): number | null {
  const ms = given && parseDurationMs(given.value);
  if (given !== undefined && !ms) {
    const message = `${given.path} is not a valid duration above 0s: ${quote(given.value)}.`;
    const remedy = `Write seconds followed by "s", such as ${ms === 0 ? '3600s' : suggestDuration(given.value)}.`;
    reportInvalid(given, { code: 'INVALID_DURATION', message, remedy }, findings);
  }
  return ms || null;
}

function checkAtLeast(count: Located<number> | undefined, min: number, findings: Findings): number | null {
  if (count !== undefined && count.value < min) {
    const message = `${count.path} must be ${min} or more, but is ${count.value}.`;
    const remedy = 'Write a valid number, or remove it.';
    findings.problems.push({ code: 'STOPPING_CONDITION', message, remedy, ...locationOf(count) });
  }
  return count?.value ?? null;
}

function checkOrder(min: Located<number> | undefined, max: Located<number> | undefined, findings: Findings): void {
  if (min !== undefined && max !== undefined && min.value > max.value) {
    const message = `${min.path} is ${min.value}, which is greater than ${max.path}, ${max.value}.`;
    findings.problems.push({ code: 'STOPPING_CONDITION', message, remedy: 'Swap the two values.', ...locationOf(min) });
  }
}
