import { omitEmpty, omitUndefined, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';

/** Prints AI Platform's HyperparameterSpec; never empty, because a job without it would be a single training. */
export function printHyperparameterSpec(study: StudyDraft): Record<string, unknown> {
  const [metric] = study.metrics;
  const spec = omitEmpty({
    goal: metric?.goal?.value,
    hyperparameterMetricTag: metric?.id?.value,
    algorithm: study.algorithm?.value,
    maxTrials: study.maxTrials?.value,
    maxParallelTrials: study.parallelTrials?.value,
    maxFailedTrials: study.maxFailedTrials?.value,
    enableTrialEarlyStopping: study.earlyStopping && true,
    resumePreviousJobId: study.resumeJobId?.value,
    params: study.parameters?.map(printParameter),
    dropforgeMaxCost: study.maxCostUsd?.value,
  });
  return spec ?? { params: [] };
}

function printParameter({ id, kind, min, max, values, scale }: ParameterDraft): Record<string, unknown> {
  const isDiscrete = kind?.value === 'DISCRETE';
  return omitUndefined({
    parameterName: id?.value,
    type: kind?.value,
    minValue: min?.value,
    maxValue: max?.value,
    [isDiscrete ? 'discreteValues' : 'categoricalValues']: isDiscrete
      ? valuesOf(values)?.map(toNumber)
      : valuesOf(values),
    scaleType: scale?.value,
  });
}

/** A number if it is written the same; otherwise the text, which the API accepts as well. */
function toNumber(text: string): number | string {
  const number = parseNumber(text);
  return number !== undefined && String(number) === text ? number : text;
}
