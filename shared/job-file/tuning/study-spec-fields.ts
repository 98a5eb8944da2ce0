import {
  createParentLookup,
  type FieldRules,
  type Message,
  READ,
  withoutEffect,
} from '#shared/job-file/parser/open-mapping.ts';

/** Vertex AI's StudySpec and its parts (`google.cloud.aiplatform.v1`, study.proto): all of their fields. */
const STUDY_FIELDS = {
  metrics: READ,
  parameters: READ,
  algorithm: READ,
  measurementSelectionType: READ,
  decayCurveStoppingSpec: READ,
  medianAutomatedStoppingSpec: READ,
  convexAutomatedStoppingSpec: READ,
  studyStoppingConfig: READ,
  observationNoise: withoutEffect('tuning jobs do not support it, on Vertex AI either'),
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

const DEFAULT_VALUE = withoutEffect('tuning jobs do not support it, on Vertex AI either');

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

const parentOf = createParentLookup([
  ['studySpec', STUDY_FIELDS],
  ['studySpec.metrics[0]', METRIC_FIELDS],
  ['studySpec.metrics[0].safetyConfig', SAFETY_FIELDS],
  ['studySpec.parameters[0]', PARAMETER_FIELDS],
  ['studySpec.parameters[0].conditionalParameterSpecs[0]', CONDITION_FIELDS],
  ['studySpec.studyStoppingConfig', STOPPING_FIELDS],
  [
    'the tuning job itself, next to studySpec',
    { displayName: READ, maxTrialCount: READ, parallelTrialCount: READ, maxFailedTrialCount: READ, trialJobSpec: READ },
  ],
]);

function message<const Rules extends FieldRules>(rules: Rules): Message<Rules> {
  return { rules, parentOf };
}

export const STUDY_SPEC = message(STUDY_FIELDS);
export const METRIC_SPEC = message(METRIC_FIELDS);
export const SAFETY_CONFIG = message(SAFETY_FIELDS);
export const PARAMETER_SPEC = message(PARAMETER_FIELDS);
export const RANGE_SPEC = message(RANGE_FIELDS);
export const VALUES_SPEC = message(VALUES_FIELDS);
export const CONDITIONAL_PARAMETER_SPEC = message(CONDITION_FIELDS);
export const PARENT_VALUES = message({ values: READ });
export const CURVE_STOPPING_SPEC = message({ useElapsedDuration: READ });
export const CONVEX_STOPPING_SPEC = message(CONVEX_FIELDS);
export const STUDY_STOPPING_CONFIG = message(STOPPING_FIELDS);
export const TIME_CONSTRAINT = message({ maxDuration: READ, endTime: READ });
