import { type FieldRules, READ } from '#shared/job-file/parser/open-mapping.ts';
import type { ShortNames } from '#shared/job-file/parser/short-names.ts';

/** The fields of `tune` in Dropforge's own format. */
export const TUNE_FIELDS = {
  metric: READ,
  goal: READ,
  trials: READ,
  parallel: READ,
  algorithm: READ,
  earlyStopping: READ,
  parameters: READ,
} as const satisfies FieldRules;

/** The fields of one of its parameters. */
export const PARAMETER_FIELDS = { min: READ, max: READ, values: READ, type: READ, scale: READ } as const;

export const TUNE_SYNONYMS = {
  hyperparameterMetricTag: 'metric',
  metricId: 'metric',
  metrics: 'metric and goal',
  maxTrials: 'trials',
  maxTrialCount: 'trials',
  maxParallelTrials: 'parallel',
  parallelTrialCount: 'parallel',
  enableTrialEarlyStopping: 'earlyStopping',
  params: 'parameters',
} as const;

export const PARAMETER_SYNONYMS = {
  minValue: 'min',
  maxValue: 'max',
  categoricalValues: 'values',
  discreteValues: 'values',
  choices: 'values',
  scaleType: 'scale',
} as const;

export const GOALS = { maximize: 'MAXIMIZE', minimize: 'MINIMIZE' } as const satisfies ShortNames;

/** AI Platform's default algorithm, Bayesian optimisation, has no other name there (HyperparameterSpec.Algorithm). */
export const ALGORITHMS = {
  bayesian: 'ALGORITHM_UNSPECIFIED',
  grid: 'GRID_SEARCH',
  random: 'RANDOM_SEARCH',
} as const satisfies ShortNames;

export const SCALES = {
  linear: 'UNIT_LINEAR_SCALE',
  log: 'UNIT_LOG_SCALE',
  reverseLog: 'UNIT_REVERSE_LOG_SCALE',
} as const satisfies ShortNames;

export const PARAMETER_TYPES = {
  double: 'DOUBLE',
  integer: 'INTEGER',
  discrete: 'DISCRETE',
  categorical: 'CATEGORICAL',
} as const satisfies ShortNames;
