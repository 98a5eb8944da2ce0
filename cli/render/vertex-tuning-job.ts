import type { TuningJob } from '#cli/render/describe-tuning.ts';
import { sortBestFirst } from '#cli/render/sort-trials.ts';
import type {
  EarlyStopping,
  Metric,
  Parameter,
  ParameterSpace,
  StoppingConditions,
  Study,
  StudyAlgorithm,
} from '#shared/domain/study.ts';
import { printDuration } from '#shared/job-file/draft/duration.ts';
import { SCALE_NAMES } from '#shared/job-file/tuning/study-enums.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { listObjectives, objectiveValues, optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';

/** Vertex AI's JobState; its other states have no counterpart here. */
const JOB_STATES: Readonly<Record<string, string>> = { PREPARING: 'JOB_STATE_PENDING' };

/** Vertex AI's states of a trial (Trial.State); a lost trial is repeated, and counts for nothing. */
const TRIAL_STATES = {
  REQUESTED: 'REQUESTED',
  ACTIVE: 'ACTIVE',
  STOPPING: 'STOPPING',
  SUCCEEDED: 'SUCCEEDED',
  INFEASIBLE: 'INFEASIBLE',
  FAILED: 'INFEASIBLE',
  LOST: 'INFEASIBLE',
} as const satisfies Record<TrialView['state'], string>;

const ALGORITHMS = {
  BAYESIAN: null,
  GRID: 'GRID_SEARCH',
  RANDOM: 'RANDOM_SEARCH',
} as const satisfies Record<StudyAlgorithm, string | null>;

/**
 * The tuning as Vertex AI's HyperparameterTuningJob (`google.cloud.aiplatform.v1`). Vertex AI does not document the
 * order of the trials; here the best one is first. Without `trials`, the field is omitted.
 */
export function toVertexTuningJob(job: TuningJob, trials?: readonly TrialView[]): Record<string, unknown> {
  const { tuning, jobId, createTime, startTime, endTime, errorMessage, labels } = job;
  return {
    name: jobId,
    displayName: jobId,
    studySpec: toStudySpec(tuning.study),
    maxTrialCount: tuning.trialsMax,
    parallelTrialCount: tuning.parallelTrialsMax,
    ...(tuning.study.failedTrialsMax !== null && { maxFailedTrialCount: tuning.study.failedTrialsMax }),
    trialJobSpec: {
      workerPoolSpecs: job.machines.map(toPool),
      baseOutputDirectory: { outputUriPrefix: job.jobDir },
    },
    ...(trials !== undefined && {
      trials: sortBestFirst(trials, tuning).map((trial) => toTrial(trial, tuning)),
    }),
    // Vertex AI lists them by a method of its own (VizierService.ListOptimalTrials), with this field.
    ...(trials !== undefined &&
      tuning.objectives.length > 0 && {
        optimalTrials: optimalTrialsOf(trials, tuning).map((trial) => toTrial(trial, tuning)),
      }),
    state: JOB_STATES[job.state] ?? `JOB_STATE_${job.state}`,
    createTime,
    ...(startTime !== null && { startTime }),
    ...(endTime !== null && { endTime }),
    // google.rpc.Code: UNKNOWN.
    ...(errorMessage !== null && { error: { code: 2, message: errorMessage } }),
    labels,
  };
}

function toPool({ machineType, accelerator, count }: JobView['machines'][number]): Record<string, unknown> {
  return {
    machineSpec: { machineType, ...(accelerator !== null && { acceleratorType: accelerator }) },
    replicaCount: String(count),
  };
}

function toTrial(trial: TrialView, tuning: TuningView): Record<string, unknown> {
  const { trialId, state, parameters, step, startTime, endTime, reason, jobId } = trial;
  const values = objectiveValues(trial, tuning);
  const metrics = listObjectives(tuning).flatMap(({ metricId }, index) => {
    const value = values[index] ?? null;
    return value === null ? [] : [{ metricId, value }];
  });
  return {
    id: trialId,
    state: TRIAL_STATES[state],
    parameters: Object.entries(parameters).map(([parameterId, value]) => ({ parameterId, value })),
    ...(metrics.length > 0 && {
      finalMeasurement: { ...(step !== null && { stepCount: String(step) }), metrics },
    }),
    ...(startTime !== null && { startTime }),
    ...(endTime !== null && { endTime }),
    ...(TRIAL_STATES[state] === 'INFEASIBLE' && reason !== null && { infeasibleReason: reason }),
    customJob: jobId,
  };
}

function toStudySpec(study: Study): Record<string, unknown> {
  const algorithm = ALGORITHMS[study.algorithm];
  return {
    metrics: study.metrics.map(toMetric),
    parameters: study.parameters.map(toParameter),
    ...(algorithm !== null && { algorithm }),
    measurementSelectionType: study.measurement === 'BEST' ? 'BEST_MEASUREMENT' : 'LAST_MEASUREMENT',
    ...(study.earlyStopping !== null && toStoppingSpec(study.earlyStopping)),
    ...(study.stoppingConditions !== null && { studyStoppingConfig: toStoppingConfig(study.stoppingConditions) }),
  };
}

function toMetric({ id, goal, safety }: Metric): Record<string, unknown> {
  return {
    metricId: id,
    goal,
    ...(safety !== null && {
      safetyConfig: {
        safetyThreshold: safety.threshold,
        desiredMinSafeTrialsFraction: safety.safeTrialsFractionMin,
      },
    }),
  };
}

function toParameter({ id, space, scale, children }: Parameter): Record<string, unknown> {
  const scaleType = SCALE_NAMES[scale];
  return {
    parameterId: id,
    ...toSpace(space),
    ...(scaleType !== null && { scaleType }),
    ...(children.length > 0 && {
      conditionalParameterSpecs: children.map(({ parentValues, parameter }) => ({
        [PARENT_FIELDS[space.kind]]: { values: parentValues.map((value) => toValue(space, value)) },
        parameterSpec: toParameter(parameter),
      })),
    }),
  };
}

/** A DOUBLE parameter has no children. */
const PARENT_FIELDS = {
  DOUBLE: 'parentDiscreteValues',
  INTEGER: 'parentIntValues',
  CATEGORICAL: 'parentCategoricalValues',
  DISCRETE: 'parentDiscreteValues',
} as const satisfies Record<ParameterSpace['kind'], string>;

function toSpace(space: ParameterSpace): Record<string, unknown> {
  switch (space.kind) {
    case 'DOUBLE':
      return { doubleValueSpec: { minValue: space.min, maxValue: space.max } };
    case 'INTEGER':
      return { integerValueSpec: { minValue: String(space.min), maxValue: String(space.max) } };
    case 'CATEGORICAL':
      return { categoricalValueSpec: { values: space.values } };
    case 'DISCRETE':
      return { discreteValueSpec: { values: space.values } };
  }
}

/** int64 values are texts in JSON. */
function toValue({ kind }: ParameterSpace, value: string | number): string | number {
  return kind === 'INTEGER' ? String(value) : value;
}

/** Dropforge's rules other than the median rule have no counterpart, or run as the median rule. */
function toStoppingSpec(stopping: EarlyStopping): Record<string, unknown> {
  if (stopping.rule === 'ASHA') {
    return {};
  }
  const usesElapsedTime = stopping.rule !== 'AUTOMATIC' && stopping.usesElapsedTime;
  return { medianAutomatedStoppingSpec: { useElapsedDuration: usesElapsedTime } };
}

function toStoppingConfig(conditions: StoppingConditions): Record<string, unknown> {
  const { stopsRunningTrials, minimumRuntime, maximumRuntime, withoutProgressMaxMs } = conditions;
  const constraintOf = (constraint: StoppingConditions['minimumRuntime']) =>
    constraint && ('maxMs' in constraint ? { maxDuration: printDuration(constraint.maxMs) } : constraint);
  const fields = {
    shouldStopAsap: stopsRunningTrials,
    minimumRuntimeConstraint: constraintOf(minimumRuntime),
    maximumRuntimeConstraint: constraintOf(maximumRuntime),
    minNumTrials: conditions.trialsMin,
    maxNumTrials: conditions.trialsMax,
    maxNumTrialsNoProgress: conditions.trialsWithoutProgressMax,
    maxDurationNoProgress: withoutProgressMaxMs && printDuration(withoutProgressMaxMs),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
