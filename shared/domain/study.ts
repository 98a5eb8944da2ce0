/**
 * Hyperparameter tuning: trials of one program with different parameter values, and the metrics that compare them. The
 * terms are those of Vertex AI's StudySpec, which took them over from AI Platform's HyperparameterSpec.
 */
export type Study = {
  readonly metrics: readonly [Metric, ...Metric[]];
  readonly algorithm: StudyAlgorithm;
  readonly trialsMax: number;
  readonly parallelTrialsMax: number;
  /** Number of failed trials after which the study fails; null leaves it to the service. */
  readonly failedTrialsMax: number | null;
  readonly earlyStopping: EarlyStopping | null;
  readonly stoppingConditions: StoppingConditions | null;
  /** Which of a trial's measurements counts. */
  readonly measurement: 'LAST' | 'BEST';
  /** Empty only if the study takes over those of `resumeJobId`. */
  readonly parameters: readonly Parameter[];
  /** An earlier study whose trials this one starts from. */
  readonly resumeJobId: string | null;
  /** Values of the first trials, by parameter id. Those that are not given are chosen as for any trial. */
  readonly start?: readonly Readonly<Record<string, string | number>>[] | undefined;
  /** List price of all trials in US dollars at which the study ends with what it has found; null for no limit. */
  readonly maxCostUsd: number | null;
};

export const STUDY_ALGORITHMS = ['BAYESIAN', 'GRID', 'RANDOM'] as const;

export type StudyAlgorithm = (typeof STUDY_ALGORITHMS)[number];

export type Metric = {
  /** As the program reports it: `accuracy`, or a TensorFlow summary tag. */
  readonly id: string;
  readonly goal: 'MAXIMIZE' | 'MINIMIZE';
  /** Set for a metric that is not optimized but kept on one side of a threshold. */
  readonly safety: { readonly threshold: number; readonly safeTrialsFractionMin: number } | null;
};

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

/** When an unpromising trial is stopped. AUTOMATIC leaves the rule to the service, as AI Platform did. */
export type EarlyStopping =
  | { readonly rule: 'AUTOMATIC' }
  /** Asynchronous successive halving (Li et al. 2020): at each rung, the best third of the trials so far go on. */
  | { readonly rule: 'ASHA' }
  | { readonly rule: 'DECAY_CURVE' | 'MEDIAN'; readonly usesElapsedTime: boolean }
  | {
      readonly rule: 'CONVEX';
      readonly usesElapsedTime: boolean;
      /** Steps, or seconds if elapsed time is used; null to learn it from the trials. */
      readonly stepsMax: number | null;
      readonly stepsMin: number | null;
      readonly measurementsMin: number | null;
      readonly learningRateParameterId: string | null;
      readonly updatesAllStoppedTrials: boolean;
    };

/** When the study ends before `trialsMax`; null for an unset condition. Times are in milliseconds or RFC 3339. */
export type StoppingConditions = {
  readonly stopsRunningTrials: boolean;
  readonly minimumRuntime: RuntimeConstraint | null;
  readonly maximumRuntime: RuntimeConstraint | null;
  readonly trialsMin: number | null;
  readonly trialsMax: number | null;
  readonly trialsWithoutProgressMax: number | null;
  readonly withoutProgressMaxMs: number | null;
};

export type RuntimeConstraint = { readonly maxMs: number } | { readonly endTime: string };

export type ParameterScale = 'NONE' | 'LINEAR' | 'LOG' | 'REVERSE_LOG';

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

/** Bounds are inclusive; DISCRETE values are in increasing order. */
export type ParameterSpace =
  | { readonly kind: 'DOUBLE' | 'INTEGER'; readonly min: number; readonly max: number }
  | { readonly kind: 'CATEGORICAL'; readonly values: readonly string[] }
  | { readonly kind: 'DISCRETE'; readonly values: readonly number[] };

export type ConditionalParameter = {
  /** Values of the parent: strings for CATEGORICAL, otherwise numbers. */
  readonly parentValues: readonly (string | number)[];
  readonly parameter: Parameter;
};
