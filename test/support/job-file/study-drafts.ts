import {
  type EarlyStoppingDraft,
  type MetricDraft,
  type ParameterDraft,
  type StoppingDraft,
  type StudyDraft,
  stoppingBy,
} from '#shared/job-file/draft/study-draft.ts';
import { located } from './located.ts';

const PATH = 'trainingInput.hyperparameters';

export function metricDraft(id: string): MetricDraft {
  return {
    path: 'metric',
    line: undefined,
    id: located(id, 'metric.metricId'),
    goal: located('MAXIMIZE', 'metric.goal'),
    safetyThreshold: undefined,
    safeTrialsFractionMin: undefined,
  };
}

/** A parameter with only a name, which is also the prefix of its paths. */
export function parameterDraft(id: string, more: Partial<ParameterDraft> = {}): ParameterDraft {
  return {
    path: id,
    line: undefined,
    id: located(id, `${id}.parameterName`),
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
  const kind = located('DOUBLE', `${id}.type`);
  return parameterDraft(id, { kind, min: located(min, `${id}.minValue`), max: located(max, `${id}.maxValue`) });
}

/** A study of 20 trials, 4 in parallel, with one parameter. */
export const STUDY_DRAFT: StudyDraft = {
  path: PATH,
  line: undefined,
  metrics: [metricDraft('accuracy')],
  algorithm: undefined,
  maxTrials: located(20, `${PATH}.maxTrials`),
  parallelTrials: located(4, `${PATH}.maxParallelTrials`),
  maxFailedTrials: undefined,
  earlyStopping: undefined,
  stopping: undefined,
  measurement: undefined,
  parameters: [doubleDraft('rate', 0.1, 1)],
  resumeJobId: undefined,
  maxCostUsd: undefined,
};

export function earlyStoppingDraft(rule: EarlyStoppingDraft['rule']['value']): EarlyStoppingDraft {
  return stoppingBy(located(rule, 'stopping'));
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
