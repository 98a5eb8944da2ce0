import { omitEmpty, omitEmptyList, omitUndefined, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import type {
  EarlyStoppingDraft,
  MetricDraft,
  ParameterDraft,
  RuntimeConstraintDraft,
  StoppingDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';

/** Prints Vertex AI's StudySpec, which has no fields for `resumeJobId` and the rules of the other formats. */
export function printStudySpec(study: StudyDraft): Record<string, unknown> {
  return omitUndefined({
    metrics: omitEmptyList(study.metrics.map(printMetric)),
    parameters: study.parameters && omitEmptyList(study.parameters.map(printParameter)),
    algorithm: study.algorithm?.value,
    measurementSelectionType: study.measurement?.value,
    ...(study.earlyStopping && printEarlyStopping(study.earlyStopping)),
    studyStoppingConfig: study.stopping && printStopping(study.stopping),
  });
}

function printMetric({ id, goal, safetyThreshold, safeTrialsFractionMin }: MetricDraft): Record<string, unknown> {
  return omitUndefined({
    metricId: id?.value,
    goal: goal?.value,
    safetyConfig: omitEmpty({
      safetyThreshold: safetyThreshold?.value,
      desiredMinSafeTrialsFraction: safeTrialsFractionMin?.value,
    }),
  });
}

function printEarlyStopping(stopping: EarlyStoppingDraft): Record<string, unknown> {
  const useElapsedDuration = stopping.usesElapsedTime?.value;
  switch (stopping.rule.value) {
    case 'AUTOMATIC':
    case 'ASHA':
      return {};
    case 'DECAY_CURVE':
      return { decayCurveStoppingSpec: omitUndefined({ useElapsedDuration }) };
    case 'MEDIAN':
      return { medianAutomatedStoppingSpec: omitUndefined({ useElapsedDuration }) };
    case 'CONVEX':
      return {
        convexAutomatedStoppingSpec: omitUndefined({
          maxStepCount: stopping.stepsMax?.value,
          minStepCount: stopping.stepsMin?.value,
          minMeasurementCount: stopping.measurementsMin?.value,
          learningRateParameterName: stopping.learningRateParameterId?.value,
          useElapsedDuration,
          updateAllStoppedTrials: stopping.updatesAllStoppedTrials?.value,
        }),
      };
  }
}

function printStopping(stopping: StoppingDraft): Record<string, unknown> {
  return omitUndefined({
    shouldStopAsap: stopping.stopsRunningTrials?.value,
    minimumRuntimeConstraint: stopping.minimumRuntime && printConstraint(stopping.minimumRuntime),
    maximumRuntimeConstraint: stopping.maximumRuntime && printConstraint(stopping.maximumRuntime),
    minNumTrials: stopping.trialsMin?.value,
    maxNumTrials: stopping.trialsMax?.value,
    maxNumTrialsNoProgress: stopping.trialsWithoutProgressMax?.value,
    maxDurationNoProgress: stopping.withoutProgressMax?.value,
  });
}

function printConstraint({ maxDuration, endTime }: RuntimeConstraintDraft): Record<string, unknown> {
  return omitUndefined({ maxDuration: maxDuration?.value, endTime: endTime?.value });
}

function printParameter(parameter: ParameterDraft): Record<string, unknown> {
  return omitUndefined({
    parameterId: parameter.id?.value,
    ...printSpace(parameter),
    scaleType: parameter.scale?.value,
    conditionalParameterSpecs: omitEmptyList(
      parameter.children.map(({ parentValues, parameter: child }) => ({
        ...printParentValues(parameter, { values: parentValues.map(({ value }) => value) }),
        parameterSpec: printParameter(child),
      })),
    ),
  });
}

/** Values stay texts, which JSON allows for doubles: as numbers, 1.0 would become 1. */
function printSpace({ kind, min, max, values }: ParameterDraft): Record<string, unknown> {
  const range = omitUndefined({ minValue: min?.value, maxValue: max?.value });
  const list = omitUndefined({ values: valuesOf(values) });
  switch (kind?.value) {
    case 'DOUBLE':
      return { doubleValueSpec: range };
    case 'INTEGER':
      return { integerValueSpec: range };
    case 'CATEGORICAL':
      return { categoricalValueSpec: list };
    case 'DISCRETE':
      return { discreteValueSpec: list };
    default:
      return {};
  }
}

function printParentValues({ kind }: ParameterDraft, values: { readonly values: readonly string[] }) {
  switch (kind?.value) {
    case 'INTEGER':
      return { parentIntValues: values };
    case 'CATEGORICAL':
      return { parentCategoricalValues: values };
    default:
      return { parentDiscreteValues: values };
  }
}
