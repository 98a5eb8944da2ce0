import type { FieldRules } from '#shared/job-file/parser/open-mapping.ts';
import { homeFinder, READ, vertexMessage, withoutEffect } from '#shared/job-file/parser/proto-message.ts';

/** Vertex AI's StudySpec and what it holds (`google.cloud.aiplatform.v1`, study.proto): all of their fields. */
const STUDY_FIELDS = {
  metrics: READ,
  parameters: READ,
  algorithm: READ,
  measurementSelectionType: READ,
  decayCurveStoppingSpec: READ,
  medianAutomatedStoppingSpec: READ,
  convexAutomatedStoppingSpec: READ,
  studyStoppingConfig: READ,
  observationNoise: withoutEffect('tuning jobs do not take it, on Vertex AI either'),
} as const satisfies FieldRules;

const METRIC_FIELDS = { metricId: READ, goal: READ, safetyConfig: READ } as const satisfies FieldRules;

const SAFETY_FIELDS = { safetyThreshold: READ, desiredMinSafeTrialsFraction: READ } as const satisfies FieldRules;

const PARAMETER_FIELDS = {
  parameterId: READ,
  scaleType: READ,
  doubleValueSpec: READ,
  integerValueSpec: READ,
  categoricalValueSpec: READ,
  discreteValueSpec: READ,
  conditionalParameterSpecs: READ,
} as const satisfies FieldRules;

const DEFAULT_VALUE = withoutEffect('tuning jobs do not take it, on Vertex AI either');

const RANGE_FIELDS = { minValue: READ, maxValue: READ, defaultValue: DEFAULT_VALUE } as const satisfies FieldRules;

const VALUES_FIELDS = { values: READ, defaultValue: DEFAULT_VALUE } as const satisfies FieldRules;

const CONDITION_FIELDS = {
  parentDiscreteValues: READ,
  parentIntValues: READ,
  parentCategoricalValues: READ,
  parameterSpec: READ,
} as const satisfies FieldRules;

const CONVEX_FIELDS = {
  maxStepCount: READ,
  minStepCount: READ,
  minMeasurementCount: READ,
  learningRateParameterName: READ,
  useElapsedDuration: READ,
  updateAllStoppedTrials: READ,
} as const satisfies FieldRules;

const STOPPING_FIELDS = {
  shouldStopAsap: READ,
  minimumRuntimeConstraint: READ,
  maximumRuntimeConstraint: READ,
  minNumTrials: READ,
  maxNumTrials: READ,
  maxNumTrialsNoProgress: READ,
  maxDurationNoProgress: READ,
} as const satisfies FieldRules;

const homeOf = homeFinder([
  ['studySpec', STUDY_FIELDS],
  ['studySpec.metrics[0]', METRIC_FIELDS],
  ['studySpec.metrics[0].safetyConfig', SAFETY_FIELDS],
  ['studySpec.parameters[0]', PARAMETER_FIELDS],
  ['studySpec.parameters[0].conditionalParameterSpecs[0]', CONDITION_FIELDS],
  ['studySpec.studyStoppingConfig', STOPPING_FIELDS],
  [
    'the tuning job itself, beside studySpec',
    { displayName: READ, maxTrialCount: READ, parallelTrialCount: READ, maxFailedTrialCount: READ, trialJobSpec: READ },
  ],
]);

export const STUDY_SPEC = vertexMessage(STUDY_FIELDS, homeOf);
export const METRIC_SPEC = vertexMessage(METRIC_FIELDS, homeOf);
export const SAFETY_CONFIG = vertexMessage(SAFETY_FIELDS, homeOf);
export const PARAMETER_SPEC = vertexMessage(PARAMETER_FIELDS, homeOf);
export const RANGE_SPEC = vertexMessage(RANGE_FIELDS, homeOf);
export const VALUES_SPEC = vertexMessage(VALUES_FIELDS, homeOf);
export const CONDITIONAL_PARAMETER_SPEC = vertexMessage(CONDITION_FIELDS, homeOf);
export const PARENT_VALUES = vertexMessage({ values: READ }, homeOf);
export const CURVE_STOPPING_SPEC = vertexMessage({ useElapsedDuration: READ }, homeOf);
export const CONVEX_STOPPING_SPEC = vertexMessage(CONVEX_FIELDS, homeOf);
export const STUDY_STOPPING_CONFIG = vertexMessage(STOPPING_FIELDS, homeOf);
export const TIME_CONSTRAINT = vertexMessage({ maxDuration: READ, endTime: READ }, homeOf);
