import type {
  EarlyStoppingDraft,
  MetricDraft,
  ParameterDraft,
  StoppingDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { said } from './located.ts';

const PATH = 'trainingInput.hyperparameters';

export function metricDraft(id: string): MetricDraft {
  return {
    path: 'metric',
    line: undefined,
    id: said(id, 'metric.metricId'),
    goal: said('MAXIMIZE', 'metric.goal'),
    safetyThreshold: undefined,
    safeTrialsFractionMin: undefined,
  };
}

/** A parameter of which nothing is said but its name; its places begin with its name. */
export function parameterDraft(id: string, more: Partial<ParameterDraft> = {}): ParameterDraft {
  return {
    path: id,
    line: undefined,
    id: said(id, `${id}.parameterName`),
    kind: undefined,
    min: undefined,
    max: undefined,
    values: undefined,
    scale: undefined,
    children: [],
    ...more,
  };
}

export function doubleDraft(id: string, min: number, max: number): ParameterDraft {
  const kind = said('DOUBLE', `${id}.type`);
  return parameterDraft(id, { kind, min: said(min, `${id}.minValue`), max: said(max, `${id}.maxValue`) });
}

/** Twenty trials, four at a time, of one parameter. */
export const STUDY_DRAFT: StudyDraft = {
  path: PATH,
  line: undefined,
  metrics: [metricDraft('accuracy')],
  algorithm: undefined,
  maxTrials: said(20, `${PATH}.maxTrials`),
  parallelTrials: said(4, `${PATH}.maxParallelTrials`),
  maxFailedTrials: undefined,
  earlyStopping: undefined,
  stopping: undefined,
  measurement: undefined,
  parameters: [doubleDraft('rate', 0.1, 1)],
  resumeJobId: undefined,
};

export function earlyStoppingDraft(rule: EarlyStoppingDraft['rule']['value']): EarlyStoppingDraft {
  return {
    rule: said(rule, 'stopping'),
    usesElapsedTime: undefined,
    stepsMax: undefined,
    stepsMin: undefined,
    measurementsMin: undefined,
    learningRateParameterId: undefined,
    updatesAllStoppedTrials: undefined,
  };
}

export const STOPPING_DRAFT: StoppingDraft = {
  stopsRunningTrials: undefined,
  minimumRuntime: undefined,
  maximumRuntime: undefined,
  trialsMin: undefined,
  trialsMax: undefined,
  trialsWithoutProgressMax: undefined,
  withoutProgressMax: undefined,
};
