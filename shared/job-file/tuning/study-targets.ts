import type {
  EarlyStoppingDraft,
  MetricDraft,
  ParameterDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { property } from '#shared/job-file/fields/table.ts';

/** Fields of the parts of a study that several formats have. */
export const inStudy = property<StudyDraft>();
export const inMetric = property<MetricDraft>();
export const inParameter = property<ParameterDraft>();
export const inEarlyStopping = property<EarlyStoppingDraft>();
