import type { Located, SourceLocation } from '#shared/job-file/parser/findings.ts';

/**
 * Hyperparameter tuning of any dialect before validation; enumerations are in the spelling of their dialect. Its path
 * is that of missing fields' parent: `trainingInput.hyperparameters`, `studySpec`.
 */
export type StudyDraft = SourceLocation & {
  readonly metrics: readonly MetricDraft[];
  readonly algorithm?: Located<string> | undefined;
  readonly maxTrials?: Located<number> | undefined;
  readonly parallelTrials?: Located<number> | undefined;
  readonly maxFailedTrials?: Located<number> | undefined;
  readonly earlyStopping?: EarlyStoppingDraft | undefined;
  readonly stopping?: StoppingDraft | undefined;
  readonly measurement?: Located<string> | undefined;
  /** Undefined if absent or empty. */
  readonly parameters?: readonly ParameterDraft[] | undefined;
  readonly resumeJobId?: Located<string> | undefined;
  readonly maxCostUsd?: Located<number> | undefined;
  /** Values to try first; of Dropforge's own format only. */
  readonly start?: readonly StartDraft[] | undefined;
};

/** Values of one trial, as written. */
export type StartDraft = SourceLocation & {
  readonly values: readonly Located<{ readonly key: string; readonly text: string }>[];
};

export type MetricDraft = SourceLocation & {
  readonly id?: Located<string> | undefined;
  readonly goal?: Located<string> | undefined;
  readonly safetyThreshold?: Located<number> | undefined;
  readonly safeTrialsFractionMin?: Located<number> | undefined;
};

export type EarlyStoppingDraft = {
  readonly rule: Located<'AUTOMATIC' | 'ASHA' | 'DECAY_CURVE' | 'MEDIAN' | 'CONVEX'>;
  readonly usesElapsedTime?: Located<boolean> | undefined;
  readonly stepsMax?: Located<number> | undefined;
  readonly stepsMin?: Located<number> | undefined;
  readonly measurementsMin?: Located<number> | undefined;
  readonly learningRateParameterId?: Located<string> | undefined;
  readonly updatesAllStoppedTrials?: Located<boolean> | undefined;
};

/** Vertex AI's StudyStoppingConfig. */
export type StoppingDraft = {
  readonly stopsRunningTrials?: Located<boolean> | undefined;
  readonly minimumRuntime?: RuntimeConstraintDraft | undefined;
  readonly maximumRuntime?: RuntimeConstraintDraft | undefined;
  readonly trialsMin?: Located<number> | undefined;
  readonly trialsMax?: Located<number> | undefined;
  readonly trialsWithoutProgressMax?: Located<number> | undefined;
  readonly withoutProgressMax?: Located<string> | undefined;
};

export type RuntimeConstraintDraft = {
  readonly maxDuration?: Located<string> | undefined;
  readonly endTime?: Located<string> | undefined;
};

export type ParameterDraft = SourceLocation & {
  readonly id?: Located<string> | undefined;
  /** DOUBLE, INTEGER, CATEGORICAL or DISCRETE, as written or from the value spec. */
  readonly kind?: Located<string> | undefined;
  readonly min?: Located<number> | undefined;
  readonly max?: Located<number> | undefined;
  /** Categories or discrete numbers, as written. */
  readonly values?: readonly Located<string>[] | undefined;
  readonly scale?: Located<string> | undefined;
  /** Only Dropforge's own format has it. */
  readonly default?: Located<string> | undefined;
  readonly children: readonly ConditionalParameterDraft[];
};

export type ConditionalParameterDraft = {
  readonly path: string;
  readonly parentValues: readonly Located<string>[];
  readonly parameter: ParameterDraft;
};
