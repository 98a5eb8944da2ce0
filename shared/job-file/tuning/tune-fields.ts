import { type Field, mappingSchema, rulesOf, synonymsOf } from '#shared/job-file/fields/field.ts';
import { type JsonSchema, oneOf, SCALAR_LIST_SCHEMA } from '#shared/job-file/fields/kind.ts';
import type { ShortNames } from '#shared/job-file/parser/short-names.ts';

export const GOALS = { maximize: 'MAXIMIZE', minimize: 'MINIMIZE' } as const satisfies ShortNames;

/** AI Platform's default algorithm, Bayesian optimization, has no other name there (HyperparameterSpec.Algorithm). */
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

/** The fields of `tune` in Dropforge's own format. */
export const TUNE_FIELDS = {
  metric: {
    description: 'The metric that trials are compared by, as the program reports it.',
    type: 'text',
    schema: { type: 'string' },
    omitted: 'required',
    examples: ['accuracy', 'loss'],
    synonyms: ['hyperparameterMetricTag', 'metricId'],
  },
  goal: {
    description: 'Whether higher or lower values of the metric are better.',
    type: oneOf(GOALS).type,
    schema: { ...oneOf(GOALS).schema, default: 'maximize' },
    omitted: '`maximize`',
  },
  trials: {
    description: 'The number of trials.',
    type: 'integer',
    schema: { type: 'integer', minimum: 1, default: 1 },
    omitted: '1',
    synonyms: ['maxTrials', 'maxTrialCount'],
  },
  parallel: {
    description: 'The number of trials that run at the same time.',
    type: 'integer',
    schema: { type: 'integer', minimum: 1, default: 1 },
    omitted: '1',
    synonyms: ['maxParallelTrials', 'parallelTrialCount'],
  },
  algorithm: {
    description: 'How the values of the next trial are chosen.',
    type: oneOf(ALGORITHMS).type,
    schema: { ...oneOf(ALGORITHMS).schema, default: 'bayesian' },
    omitted: '`bayesian`',
  },
  earlyStopping: {
    description: 'Whether unpromising trials are stopped early.',
    type: 'boolean',
    schema: { type: 'boolean', default: false },
    omitted: '`false`',
    synonyms: ['enableTrialEarlyStopping'],
  },
  parameters: {
    description: 'The hyperparameters, by the names of their flags: a list of values, or a mapping.',
    type: 'mapping',
    schema: { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/parameter' } },
    omitted: 'required',
    examples: [
      {
        learning_rate: { min: 1e-5, max: 0.1, scale: 'log' },
        batch_size: [16, 32, 64],
        optimizer: ['adam', 'sgd'],
      },
    ],
    synonyms: ['params'],
  },
} as const satisfies Readonly<Record<string, Field>>;

/** The fields of one of its parameters. */
export const PARAMETER_FIELDS = {
  min: {
    description: 'The smallest value.',
    type: 'number',
    schema: { type: 'number' },
    omitted: 'required with `max`',
    synonyms: ['minValue'],
  },
  max: {
    description: 'The largest value.',
    type: 'number',
    schema: { type: 'number' },
    omitted: 'required with `min`',
    synonyms: ['maxValue'],
  },
  values: {
    description: 'Instead of min and max: the numbers or texts to choose from.',
    type: 'list',
    schema: { ...SCALAR_LIST_SCHEMA, minItems: 1 },
    omitted: 'required without `min` and `max`',
    synonyms: ['categoricalValues', 'discreteValues', 'choices'],
  },
  type: {
    description: 'The type of the values.',
    type: oneOf(PARAMETER_TYPES).type,
    schema: oneOf(PARAMETER_TYPES).schema,
    omitted:
      '`integer` if both bounds are integers written without a point, otherwise `double`; `discrete` if all values are numbers, otherwise `categorical`',
  },
  scale: {
    description: 'How the range is searched: log for values that vary by orders of magnitude.',
    type: oneOf(SCALES).type,
    schema: oneOf(SCALES).schema,
    omitted: 'linear',
    synonyms: ['scaleType'],
  },
} as const satisfies Readonly<Record<string, Field>>;

export const TUNE_MESSAGE = {
  rules: rulesOf(TUNE_FIELDS),
  synonyms: synonymsOf(TUNE_FIELDS, { metrics: 'metric and goal' }),
};

export const PARAMETER_MESSAGE = { rules: rulesOf(PARAMETER_FIELDS), synonyms: synonymsOf(PARAMETER_FIELDS) };

export function tuneSchemas(): JsonSchema {
  return {
    tune: { ...mappingSchema(TUNE_FIELDS), required: ['metric', 'parameters'] },
    parameter: {
      anyOf: [
        {
          description: 'Numbers are discrete values, texts are categories.',
          ...SCALAR_LIST_SCHEMA,
          minItems: 1,
        },
        {
          ...mappingSchema(PARAMETER_FIELDS),
          anyOf: [{ required: ['min', 'max'] }, { required: ['values'] }],
        },
      ],
    },
  };
}
