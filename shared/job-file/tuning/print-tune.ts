import { omitUndefined } from '#shared/job-file/draft/print-fields.ts';
import type { MetricDraft, ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { toShortName } from '#shared/job-file/parser/short-names.ts';
import {
  ALGORITHMS,
  GOALS,
  MEASUREMENTS,
  PARAMETER_TYPES,
  SCALES,
  STOPPING_RULES,
} from '#shared/job-file/tuning/tune-fields.ts';

/** Prints `tune` of Dropforge's own format. */
export function printTune(study: StudyDraft): Record<string, unknown> {
  const rule = study.earlyStopping?.rule.value;
  return omitUndefined({
    ...printMetrics(study.metrics),
    trials: study.maxTrials?.value,
    parallel: study.parallelTrials?.value,
    algorithm: study.algorithm && toShortName(study.algorithm.value, ALGORITHMS),
    stopping: rule === undefined || rule === 'AUTOMATIC' ? undefined : toShortName(rule, STOPPING_RULES),
    earlyStopping: rule === 'AUTOMATIC' ? true : undefined,
    measurement: study.measurement && toShortName(study.measurement.value, MEASUREMENTS),
    maxCost: study.maxCostUsd?.value,
    maxFailedTrials: study.maxFailedTrials?.value,
    resume: study.resumeJobId?.value,
    start: study.start?.length
      ? study.start.map(({ values }) => new Map(values.map(({ value: { key, text } }) => [key, toScalar(text)])))
      : undefined,
    // A Map: an object would move names like `10` to the front.
    parameters: study.parameters && new Map(study.parameters.flatMap((parameter) => printWithChildren(parameter))),
  });
}

/** Safety metrics have no field in this format. */
function printMetrics(metrics: StudyDraft['metrics']): Record<string, unknown> {
  const objectives = metrics.filter(({ safetyThreshold }) => safetyThreshold === undefined);
  const goalOf = ({ goal }: MetricDraft) => goal && toShortName(goal.value, GOALS);
  if (objectives.length > 1) {
    return { metrics: new Map(objectives.map((metric) => [metric.id?.value ?? '', goalOf(metric)])) };
  }
  const [metric] = objectives.length === 0 ? metrics : objectives;
  return {
    metric: metric?.id?.value,
    goal: metric?.goal?.value === GOALS.maximize ? undefined : metric && goalOf(metric),
  };
}

/** The parameter and those that depend on it, which refer to it by name. */
function printWithChildren(parameter: ParameterDraft, when?: unknown): readonly (readonly [string, unknown])[] {
  const id = parameter.id?.value ?? '';
  return [
    [id, printParameter(parameter, when)],
    ...parameter.children.flatMap((child) => {
      const values = printValues(child.parentValues, parameter.kind?.value);
      return printWithChildren(child.parameter, new Map([[id, values.length === 1 ? values[0] : values]]));
    }),
  ];
}

function printParameter({ kind, min, max, values, scale, default: fallback }: ParameterDraft, when: unknown): unknown {
  const choices = values && printValues(values, kind?.value);
  const fields = omitUndefined({
    min: min?.value,
    max: max?.value,
    values: choices,
    type:
      kind?.value === inferKind(choices, [min?.value, max?.value])
        ? undefined
        : kind && toShortName(kind.value, PARAMETER_TYPES),
    scale: scale && toShortName(scale.value, SCALES),
    default: fallback && toScalar(fallback.value),
    when,
  });
  return choices !== undefined && Object.keys(fields).length === 1 ? choices : fields;
}

/** Numbers of discrete and integer parameters; all other values are texts. */
function printValues(values: readonly Located<string>[], kind: string | undefined): readonly (string | number)[] {
  const areNumbers = kind === PARAMETER_TYPES.discrete || kind === PARAMETER_TYPES.integer;
  return values.map(({ value }) => (areNumbers ? toScalar(value) : value));
}

/** A number if it prints as it was read. */
function toScalar(text: string): string | number {
  return Number.isFinite(Number(text)) && String(Number(text)) === text ? Number(text) : text;
}

/** The kind that the reader infers from the values if no type is given. */
function inferKind(choices: readonly unknown[] | undefined, bounds: readonly (number | undefined)[]): string {
  if (choices !== undefined) {
    const areNumbers = choices.length > 0 && choices.every((choice) => typeof choice === 'number');
    return areNumbers ? PARAMETER_TYPES.discrete : PARAMETER_TYPES.categorical;
  }
  const areWhole = bounds.every((bound) => bound !== undefined && /^-?\d+$/.test(String(bound)));
  return areWhole && bounds.join() !== '0,1' ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}
