import type { ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Field, mappingSchema } from '#shared/job-file/fields/field.ts';
import {
  integer,
  type JsonSchema,
  number,
  oneOf,
  SCALAR_LIST_SCHEMA,
  SCALAR_SCHEMA,
  TEXT,
  TEXT_SCHEMA,
  wholeNumber,
} from '#shared/job-file/fields/kind.ts';
import type { Row } from '#shared/job-file/fields/table.ts';
import type { ShortNames } from '#shared/job-file/parser/short-names.ts';
import { inParameter, inStudy } from '#shared/job-file/tuning/study-targets.ts';
import { PARALLEL_TRIALS_MAX, TRIALS_MAX } from '#shared/tuning/trial.ts';

export const GOALS = { maximize: 'MAXIMIZE', minimize: 'MINIMIZE' } as const satisfies ShortNames;

/** AI Platform's default algorithm, Bayesian optimization, has no other name there (HyperparameterSpec.Algorithm). */
export const ALGORITHMS = {
  bayesian: 'ALGORITHM_UNSPECIFIED',
  grid: 'GRID_SEARCH',
  random: 'RANDOM_SEARCH',
  population: 'POPULATION_BASED_TRAINING',
} as const satisfies ShortNames;

/** Rules of early stopping; `none` is the same as no rule. */
export const STOPPING_RULES = { asha: 'ASHA', median: 'MEDIAN', none: 'NONE' } as const satisfies ShortNames;

export const MEASUREMENTS = {
  last: 'LAST_MEASUREMENT',
  best: 'BEST_MEASUREMENT',
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
    schema: TEXT_SCHEMA,
    omitted: 'required without `metrics`',
    examples: ['accuracy', 'loss'],
    synonyms: ['hyperparameterMetricTag', 'metricId'],
  },
  goal: {
    description: 'Whether higher or lower values of the metric are better.',
    type: oneOf(GOALS).type,
    schema: { ...oneOf(GOALS).schema, default: 'maximize' },
    omitted: '`maximize`',
  },
  metrics: {
    description:
      'Instead of `metric` and `goal`: several metrics to optimize together, with the goal of each. The result is the trials that no other one beats in all of them.',
    type: 'mapping',
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: 20,
      additionalProperties: oneOf(GOALS).schema,
    },
    omitted: '`metric` and `goal`',
    examples: [{ accuracy: 'maximize', latency_ms: 'minimize' }],
    synonyms: ['objectives'],
  },
  trials: {
    ...inStudy('maxTrials', integer({ min: 1, max: TRIALS_MAX, default: 1 })),
    description: 'The number of trials.',
    omitted: '1',
    synonyms: ['maxTrials', 'maxTrialCount'],
  },
  parallel: {
    ...inStudy('parallelTrials', integer({ min: 1, max: PARALLEL_TRIALS_MAX, default: 1 })),
    description: 'The number of trials that run at the same time.',
    omitted: '1',
    synonyms: ['maxParallelTrials', 'parallelTrialCount'],
  },
  algorithm: {
    ...inStudy('algorithm', oneOf(ALGORITHMS, { default: 'bayesian' })),
    description: 'How the values of the next trial are chosen; `population` runs as `bayesian`, with a warning.',
    omitted: '`bayesian`',
  },
  stopping: {
    type: oneOf(STOPPING_RULES).type,
    schema: { ...oneOf(STOPPING_RULES).schema, default: 'none' },
    description:
      'When an unpromising trial is stopped: `median` stops one that is worse than the median of earlier trials at the same step; `asha` lets only the best third go on at each of a few steps, which saves more and can stop the best trial.',
    omitted: '`none`',
    synonyms: ['medianAutomatedStoppingSpec', 'decayCurveStoppingSpec', 'convexAutomatedStoppingSpec'],
  },
  earlyStopping: {
    type: 'boolean',
    schema: { type: 'boolean', default: false },
    description: '`true` is the same as `stopping: median`.',
    omitted: '`false`',
    synonyms: ['enableTrialEarlyStopping'],
  },
  measurement: {
    ...inStudy('measurement', oneOf(MEASUREMENTS, { default: 'last' })),
    description:
      'Which of the values that a trial reports counts, also if it is stopped early; the last is that of the model it saved.',
    omitted: '`last`',
    synonyms: ['measurementSelectionType'],
  },
  maxCost: {
    ...inStudy('maxCostUsd', number({ exclusiveMinimum: 0 })),
    description:
      'The cost in US dollars, at the list prices of the VMs, at which the tuning ends with the best value that it has found.',
    type: 'number, above 0',
    omitted: 'no limit',
    examples: [20],
    synonyms: ['dropforgeMaxCost', 'budget'],
  },
  maxFailedTrials: {
    ...inStudy('maxFailedTrials', wholeNumber({ minimum: 0, maximum: TRIALS_MAX })),
    description: 'The number of failed trials at which the tuning fails.',
    omitted:
      'until a trial has succeeded, 30 (or `parallel`, if greater), or 3 whose causes no values change ([the rule](tuning.md#failed-trials)); then no limit',
    synonyms: ['maxFailedTrialCount'],
  },
  resume: {
    ...inStudy('resumeJobId', TEXT),
    description: 'The id of an earlier tuning with the same metrics and goals, whose trials this one learns from.',
    omitted: 'none',
    examples: ['search_1'],
    synonyms: ['resumePreviousJobId'],
  },
  start: {
    type: 'list of mappings',
    schema: { type: 'array', items: { type: 'object', additionalProperties: SCALAR_SCHEMA } },
    description:
      'Values of the first trials, such as those that you use today. Values that are not given are the `default` of the parameter, or chosen as for any trial.',
    omitted: 'none',
    examples: [[{ learning_rate: 0.001, layers: 3 }]],
    synonyms: ['startValues', 'initialValues', 'enqueue'],
  },
  parameters: {
    type: 'mapping',
    schema: { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/parameter' } },
    description: 'The hyperparameters, by the names of their flags: a list of values, or a mapping.',
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
} as const satisfies Readonly<Record<string, Field & Row<StudyDraft>>>;

/** The fields of one of its parameters. */
export const PARAMETER_FIELDS = {
  min: {
    ...inParameter('min', number()),
    description: 'The smallest value.',
    omitted: 'required with `max`',
    synonyms: ['minValue'],
  },
  max: {
    ...inParameter('max', number()),
    description: 'The largest value.',
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
    ...inParameter('kind', oneOf(PARAMETER_TYPES)),
    description: 'The type of the values.',
    omitted:
      '`integer` if both bounds are integers written without a point and are not 0 and 1, otherwise `double`; `discrete` if all values are numbers, otherwise `categorical`',
  },
  scale: {
    ...inParameter('scale', oneOf(SCALES)),
    description: 'How the range is searched: log for values that vary by orders of magnitude.',
    omitted: 'linear',
    synonyms: ['scaleType'],
  },
  default: {
    ...inParameter('default', TEXT),
    description:
      'What the program uses without the flag: with `resume`, the value of earlier trials that did not have the parameter.',
    type: 'number or text',
    schema: SCALAR_SCHEMA,
    omitted: 'earlier trials without the parameter are ignored',
    synonyms: ['defaultValue'],
  },
  when: {
    description:
      'For a conditional parameter: another parameter, and its values for which this one is used, as in `when: { optimizer: momentum }`.',
    type: 'mapping',
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: { anyOf: [SCALAR_SCHEMA, { ...SCALAR_LIST_SCHEMA, minItems: 1 }] },
    },
    omitted: 'always',
    examples: [{ optimizer: 'momentum' }],
    synonyms: ['conditionalParameterSpecs', 'parent', 'if'],
  },
} as const satisfies Readonly<Record<string, Field & Row<ParameterDraft>>>;

export function tuneSchemas(): JsonSchema {
  return {
    tune: {
      ...mappingSchema(TUNE_FIELDS),
      required: ['parameters'],
      anyOf: [{ required: ['metric'] }, { required: ['metrics'] }],
    },
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
