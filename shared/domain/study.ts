import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

const nullableNumber = z.number().nullable();

/** Bounds are inclusive; DISCRETE values are in increasing order. */
const parameterSpaceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['DOUBLE', 'INTEGER']), min: z.number(), max: z.number() }),
  z.object({ kind: z.literal('CATEGORICAL'), values: z.array(z.string()) }),
  z.object({ kind: z.literal('DISCRETE'), values: z.array(z.number()) }),
]);
export type ParameterSpace = Stated<typeof parameterSpaceSchema>;

const parameterScaleSchema = z.enum(['NONE', 'LINEAR', 'LOG', 'REVERSE_LOG']);
export type ParameterScale = Stated<typeof parameterScaleSchema>;

export type Parameter = {
  /** Name of the flag that is passed to the program: `--learning_rate=0.01`. */
  readonly id: string;
  readonly space: ParameterSpace;
  readonly scale: ParameterScale;
  /** The program's value without the flag. Trials of a resumed study that did not have the parameter count with it. */
  readonly default?: string | number | undefined;
  /** Parameters that exist only for certain values of this one. */
  readonly children: readonly ConditionalParameter[];
};

export type ConditionalParameter = {
  /** Values of the parent: strings for CATEGORICAL, otherwise numbers. */
  readonly parentValues: readonly (string | number)[];
  readonly parameter: Parameter;
};

/** No type can be inferred from a schema that contains itself. */
const parameterSchema: z.ZodType<Parameter> = z.object({
  id: z.string(),
  space: parameterSpaceSchema,
  scale: parameterScaleSchema,
  default: z.union([z.string(), z.number()]).optional(),
  children: z.lazy(() =>
    z.array(z.object({ parentValues: z.array(z.union([z.string(), z.number()])), parameter: parameterSchema })),
  ),
});

/** When an unpromising trial is stopped. AUTOMATIC leaves the rule to the service, as AI Platform did. */
const earlyStoppingSchema = z.discriminatedUnion('rule', [
  z.object({ rule: z.literal('AUTOMATIC') }),
  /** Asynchronous successive halving (Li et al. 2020): at each rung, the best third of the trials so far go on. */
  z.object({ rule: z.literal('ASHA') }),
  z.object({ rule: z.enum(['DECAY_CURVE', 'MEDIAN']), usesElapsedTime: z.boolean() }),
  z.object({
    rule: z.literal('CONVEX'),
    usesElapsedTime: z.boolean(),
    /** Steps, or seconds if elapsed time is used; null to learn it from the trials. */
    stepsMax: nullableNumber,
    stepsMin: nullableNumber,
    measurementsMin: nullableNumber,
    learningRateParameterId: z.string().nullable(),
    updatesAllStoppedTrials: z.boolean(),
  }),
]);
export type EarlyStopping = Stated<typeof earlyStoppingSchema>;

const runtimeConstraintSchema = z.union([z.object({ maxMs: z.number() }), z.object({ endTime: z.string() })]);
export type RuntimeConstraint = Stated<typeof runtimeConstraintSchema>;

/** When the study ends before `trialsMax`; null for an unset condition. Times are in milliseconds or RFC 3339. */
const stoppingConditionsSchema = z.object({
  stopsRunningTrials: z.boolean(),
  minimumRuntime: runtimeConstraintSchema.nullable(),
  maximumRuntime: runtimeConstraintSchema.nullable(),
  trialsMin: nullableNumber,
  trialsMax: nullableNumber,
  trialsWithoutProgressMax: nullableNumber,
  withoutProgressMaxMs: nullableNumber,
});
export type StoppingConditions = Stated<typeof stoppingConditionsSchema>;

const metricSchema = z.object({
  /** The name that the program reports: `accuracy`, or a TensorFlow summary tag. */
  id: z.string(),
  goal: z.enum(['MAXIMIZE', 'MINIMIZE']),
  /** Set for a metric that is not optimized but kept on one side of a threshold. */
  safety: z.object({ threshold: z.number(), safeTrialsFractionMin: z.number() }).nullable(),
});
export type Metric = Stated<typeof metricSchema>;

/** Older versions trained populations. */
export const algorithmSchema = z.preprocess(
  (name) => (name === 'POPULATION_BASED' ? 'BAYESIAN' : name),
  z.enum(['BAYESIAN', 'GRID', 'RANDOM']),
);
export type StudyAlgorithm = Stated<typeof algorithmSchema>;

/**
 * Hyperparameter tuning: trials of one program with different parameter values, and the metrics that compare them. The
 * terms are those of Vertex AI's StudySpec, which took them over from AI Platform's HyperparameterSpec.
 */
export const studySchema = z.object({
  metrics: z.tuple([metricSchema], metricSchema),
  algorithm: algorithmSchema,
  trialsMax: z.int().min(1),
  parallelTrialsMax: z.int().min(1),
  /** Number of failed trials after which the study fails; null leaves it to the service. */
  failedTrialsMax: nullableNumber,
  earlyStopping: earlyStoppingSchema.nullable(),
  stoppingConditions: stoppingConditionsSchema.nullable(),
  /** Which of a trial's measurements counts. */
  measurement: z.enum(['LAST', 'BEST']),
  /** Empty only if the study takes over those of `resumeJobId`. */
  parameters: z.array(parameterSchema),
  /** An earlier study whose trials this one starts from. */
  resumeJobId: z.string().nullable(),
  /** Values of the first trials, by parameter id. Those that are not given are chosen as for any trial. */
  start: z.array(z.record(z.string(), z.union([z.string(), z.number()]))).optional(),
  /** List price of all trials in US dollars at which the study ends with what it has found; null for no limit. */
  maxCostUsd: nullableNumber,
});
export type Study = Stated<typeof studySchema>;

/** The metrics that are optimized, which are the study's objectives. Safety metrics are not. */
export function objectiveMetricsOf({ metrics }: Pick<Study, 'metrics'>): readonly [Metric, ...Metric[]] {
  const [first = metrics[0], ...others] = metrics.filter(({ safety }) => safety === null);
  return [first, ...others];
}

/** The objective, or the first of several. */
export function objectiveMetricOf(study: Pick<Study, 'metrics'>): Metric {
  return objectiveMetricsOf(study)[0];
}

/** Whether the study has several objectives: its result is then a set of trials, of which none is better than another. */
export function isMultiObjective(study: Pick<Study, 'metrics'>): boolean {
  return objectiveMetricsOf(study).length > 1;
}
