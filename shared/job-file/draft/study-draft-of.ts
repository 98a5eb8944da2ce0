import type {
  ConditionalParameter,
  EarlyStopping,
  Metric,
  Parameter,
  RuntimeConstraint,
  StoppingConditions,
  Study,
  StudyAlgorithm,
} from '#shared/domain/study.ts';
import {
  type ConditionalParameterDraft,
  type EarlyStoppingDraft,
  type MetricDraft,
  type ParameterDraft,
  type RuntimeConstraintDraft,
  type StoppingDraft,
  type StudyDraft,
  stoppingBy,
} from '#shared/job-file/draft/study-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

const ALGORITHM_NAMES = {
  BAYESIAN: 'ALGORITHM_UNSPECIFIED',
  GRID: 'GRID_SEARCH',
  RANDOM: 'RANDOM_SEARCH',
} as const satisfies Record<StudyAlgorithm, string>;

const SCALE_NAMES = {
  NONE: undefined,
  LINEAR: 'UNIT_LINEAR_SCALE',
  LOG: 'UNIT_LOG_SCALE',
  REVERSE_LOG: 'UNIT_REVERSE_LOG_SCALE',
} as const;

const ANYWHERE = { path: '', line: undefined } as const;

/** The draft of a study that was accepted, in the names that both of Google's APIs use. */
export function studyDraftOf(study: Study): StudyDraft {
  const { algorithm, measurement, earlyStopping, stoppingConditions } = study;
  return {
    ...ANYWHERE,
    metrics: study.metrics.map(metricOf),
    algorithm: algorithm === 'BAYESIAN' ? undefined : at(ALGORITHM_NAMES[algorithm]),
    maxTrials: at(study.trialsMax),
    parallelTrials: at(study.parallelTrialsMax),
    maxFailedTrials: at(study.failedTrialsMax),
    earlyStopping: earlyStopping === null ? undefined : earlyStoppingOf(earlyStopping),
    stopping: stoppingConditions === null ? undefined : stoppingOf(stoppingConditions),
    measurement: measurement === 'LAST' ? undefined : at('BEST_MEASUREMENT'),
    parameters: study.parameters.length === 0 ? undefined : study.parameters.map(parameterOf),
    resumeJobId: at(study.resumeJobId),
    maxCostUsd: at(study.maxCostUsd),
    start: study.start?.map((values) => ({
      path: '',
      values: Object.entries(values).map(([key, value]) => ({ path: '', value: { key, text: String(value) } })),
    })),
  };
}

function metricOf({ id, goal, safety }: Metric): MetricDraft {
  return {
    ...ANYWHERE,
    id: at(id),
    goal: at(goal),
    safetyThreshold: at(safety?.threshold ?? null),
    safeTrialsFractionMin: at(safety?.safeTrialsFractionMin ?? null),
  };
}

function earlyStoppingOf(stopping: EarlyStopping): EarlyStoppingDraft {
  const rule = { path: '', value: stopping.rule };
  switch (stopping.rule) {
    case 'AUTOMATIC':
    case 'ASHA':
      return stoppingBy(rule);
    case 'DECAY_CURVE':
    case 'MEDIAN':
      return { ...stoppingBy(rule), usesElapsedTime: stopping.usesElapsedTime ? at(true) : undefined };
    case 'CONVEX':
      return {
        rule,
        usesElapsedTime: at(stopping.usesElapsedTime),
        stepsMax: at(stopping.stepsMax),
        stepsMin: at(stopping.stepsMin),
        measurementsMin: at(stopping.measurementsMin),
        learningRateParameterId: at(stopping.learningRateParameterId),
        updatesAllStoppedTrials: at(stopping.updatesAllStoppedTrials),
      };
  }
}

function stoppingOf(conditions: StoppingConditions): StoppingDraft {
  const { minimumRuntime, maximumRuntime, withoutProgressMaxMs } = conditions;
  return {
    stopsRunningTrials: conditions.stopsRunningTrials ? at(true) : undefined,
    minimumRuntime: minimumRuntime === null ? undefined : runtimeOf(minimumRuntime),
    maximumRuntime: maximumRuntime === null ? undefined : runtimeOf(maximumRuntime),
    trialsMin: at(conditions.trialsMin),
    trialsMax: at(conditions.trialsMax),
    trialsWithoutProgressMax: at(conditions.trialsWithoutProgressMax),
    withoutProgressMax: at(withoutProgressMaxMs === null ? null : `${withoutProgressMaxMs / 1_000}s`),
  };
}

function runtimeOf(constraint: RuntimeConstraint): RuntimeConstraintDraft {
  return 'maxMs' in constraint
    ? { path: '', maxDuration: at(`${constraint.maxMs / 1_000}s`), endTime: undefined }
    : { path: '', maxDuration: undefined, endTime: at(constraint.endTime) };
}

function parameterOf({ id, space, scale, default: fallback, children }: Parameter): ParameterDraft {
  const hasBounds = 'min' in space;
  const scaleName = SCALE_NAMES[scale];
  return {
    ...ANYWHERE,
    id: at(id),
    kind: at(space.kind),
    min: hasBounds ? at(space.min) : undefined,
    max: hasBounds ? at(space.max) : undefined,
    values: hasBounds ? undefined : space.values.map((value) => ({ path: '', value: String(value) })),
    scale: at(scaleName ?? null),
    default: at(fallback === undefined ? null : String(fallback)),
    children: children.map(childOf),
  };
}

function childOf({ parentValues, parameter }: ConditionalParameter): ConditionalParameterDraft {
  return {
    path: '',
    parentValues: parentValues.map((value) => ({ path: '', value: String(value) })),
    parameter: parameterOf(parameter),
  };
}

function at<T>(value: T | null): Located<T> | undefined {
  return value === null ? undefined : { path: '', value };
}
