import { type FieldRules, READ } from '#shared/job-file/parser/open-mapping.ts';

/** All fields of AI Platform's HyperparameterSpec (`ml.googleapis.com` v1). */
export const HYPERPARAMETER_FIELDS = {
  goal: READ,
  hyperparameterMetricTag: READ,
  algorithm: READ,
  maxTrials: READ,
  maxParallelTrials: READ,
  maxFailedTrials: READ,
  enableTrialEarlyStopping: READ,
  resumePreviousJobId: READ,
  params: READ,
  // Not a field of the API: carries --max-cost from the command line to intake.
  dropforgeMaxCost: READ,
} as const satisfies FieldRules;

/** All fields of its ParameterSpec. */
export const PARAMETER_FIELDS = {
  parameterName: READ,
  type: READ,
  minValue: READ,
  maxValue: READ,
  categoricalValues: READ,
  discreteValues: READ,
  scaleType: READ,
} as const satisfies FieldRules;
