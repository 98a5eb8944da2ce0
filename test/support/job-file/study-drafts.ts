import type {
  EarlyStoppingDraft,
  MetricDraft,
  ParameterDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { located } from './located.ts';

const PATH = 'trainingInput.hyperparameters';

export function metricDraft(id: string): MetricDraft {
  return {
    path: 'metric',
    id: located(id, 'metric.metricId'),
    goal: located('MAXIMIZE', 'metric.goal'),
  };
}

/** A parameter with only a name, which is also the prefix of its paths. */
export function parameterDraft(id: string, more: Partial<ParameterDraft> = {}): ParameterDraft {
  return {
    path: id,
    id: located(id, `${id}.parameterName`),
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
  metrics: [metricDraft('accuracy')],
  maxTrials: located(20, `${PATH}.maxTrials`),
  parallelTrials: located(4, `${PATH}.maxParallelTrials`),
  parameters: [doubleDraft('rate', 0.1, 1)],
};

export function earlyStoppingDraft(rule: EarlyStoppingDraft['rule']['value']): EarlyStoppingDraft {
  return { rule: located(rule, 'stopping') };
}
