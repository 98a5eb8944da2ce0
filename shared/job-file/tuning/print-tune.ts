import { omitUndefined } from '#shared/job-file/draft/print-fields.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { toShortName } from '#shared/job-file/parser/short-names.ts';
import { ALGORITHMS, GOALS, PARAMETER_TYPES, SCALES } from '#shared/job-file/tuning/tune-fields.ts';

/** Prints `tune` of Dropforge's own format. */
export function printTune(study: StudyDraft): Record<string, unknown> {
  const [metric] = study.metrics;
  const goal = metric?.goal && toShortName(metric.goal.value, GOALS);
  return omitUndefined({
    metric: metric?.id?.value,
    goal: metric?.goal?.value === GOALS.maximize ? undefined : goal,
    trials: study.maxTrials?.value,
    parallel: study.parallelTrials?.value,
    algorithm: study.algorithm && toShortName(study.algorithm.value, ALGORITHMS),
    earlyStopping: study.earlyStopping && true,
    parameters:
      study.parameters &&
      Object.fromEntries(study.parameters.map((parameter) => [parameter.id?.value ?? '', printParameter(parameter)])),
  });
}

function printParameter({ kind, min, max, values, scale }: ParameterDraft): unknown {
  const isDiscrete = kind?.value === PARAMETER_TYPES.discrete;
  const choices = values?.map(({ value }) => (isDiscrete && String(Number(value)) === value ? Number(value) : value));
  const fields = omitUndefined({
    min: min?.value,
    max: max?.value,
    values: choices,
    type:
      kind?.value === inferKind(choices, [min?.value, max?.value])
        ? undefined
        : kind && toShortName(kind.value, PARAMETER_TYPES),
    scale: scale && toShortName(scale.value, SCALES),
  });
  return choices !== undefined && Object.keys(fields).length === 1 ? choices : fields;
}

/** The kind that the reader infers from the values if no type is given. */
function inferKind(choices: readonly unknown[] | undefined, bounds: readonly (number | undefined)[]): string {
  if (choices !== undefined) {
    const areNumbers = choices.length > 0 && choices.every((choice) => typeof choice === 'number');
    return areNumbers ? PARAMETER_TYPES.discrete : PARAMETER_TYPES.categorical;
  }
  const areWhole = bounds.every((bound) => bound !== undefined && /^-?\d+$/.test(String(bound)));
  return areWhole ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}
