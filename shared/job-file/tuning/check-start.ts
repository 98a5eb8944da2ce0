import type { Parameter, ParameterSpace, Study } from '#shared/domain/study.ts';
import type { StartDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { readDimension } from '#shared/tuning/optimizer/dimension.ts';

type Values = NonNullable<Study['start']>[number];

/** The values of the first trials. Those that an entry does not give are chosen as for any trial. */
export function checkStart(
  { start = [] }: StudyDraft,
  { parameters, trialsMax }: Pick<Study, 'parameters' | 'trialsMax'>,
  findings: Findings,
): readonly Values[] {
  const excess = start[trialsMax];
  if (excess !== undefined) {
    const message = `${excess.path} is one of ${start.length} first trials, but the study has ${trialsMax} in all.`;
    const remedy = `Increase the number of trials to ${start.length} or more, or remove some of the first.`;
    findings.problems.push({ code: 'START_ABOVE_MAX_TRIALS', message, remedy, ...locationOf(excess) });
  }
  return start.map((entry) => checkEntry(entry, parameters, findings));
}

function checkEntry({ path, values: given }: StartDraft, parameters: readonly Parameter[], findings: Findings): Values {
  const values: Record<string, string | number> = {};
  const open = new Map(given.map((located) => [located.value.key, located]));
  const readActive = (parameter: Parameter): void => {
    const located = open.get(parameter.id);
    const text = located && { ...located, value: located.value.text };
    const value = text && checkValue(text, parameter, findings);
    open.delete(parameter.id);
    if (value !== undefined) {
      values[parameter.id] = value;
    }
    for (const child of parameter.children.filter(({ parentValues }) => parentValues.includes(value ?? ''))) {
      readActive(child.parameter);
    }
  };
  for (const parameter of parameters) {
    readActive(parameter);
  }
  for (const { value, ...location } of open.values()) {
    const known = listIds(parameters);
    const isConditional = known.includes(value.key);
    const message = isConditional
      ? `${location.path} is given, but ${path} does not give the value of the parameter on which it depends.`
      : `${location.path} is not a parameter of the study.`;
    const remedy = isConditional
      ? `Give the value for which ${quote(value.key)} is used, too, or remove it.`
      : `${didYouMean(value.key, known)}Write the name of a parameter, or remove it.`;
    const code = isConditional ? 'PARAMETER_VALUE' : 'UNKNOWN_PARAMETER';
    findings.problems.push({ code, message, remedy, ...locationOf(location) });
  }
  return values;
}

function listIds(parameters: readonly Parameter[]): string[] {
  return parameters.flatMap(({ id, children }) => [id, ...listIds(children.map(({ parameter }) => parameter))]);
}

/** A value that the parameter can have; undefined, with a problem, for any other. */
export function checkValue(
  given: Located<string>,
  { id, space }: Pick<Parameter, 'id' | 'space'>,
  findings: Findings,
): string | number | undefined {
  const value = valueIn(space, given.value);
  if (value === undefined) {
    const range = 'values' in space ? space.values.join(', ') : `${space.kind} from ${space.min} to ${space.max}`;
    const message = `${given.path} is ${quote(given.value)}, which is not a value of ${quote(id)}: ${range}.`;
    const remedy = 'Write one of its values, or extend them.';
    reportInvalid(given, { code: 'PARAMETER_VALUE', message, remedy }, findings);
  }
  return value;
}

/** The value as the space has it; undefined if it does not. */
export function valueIn(space: ParameterSpace, text: string): string | number | undefined {
  const value = space.kind === 'CATEGORICAL' ? text : parseNumber(text);
  const { toCoordinate } = readDimension({ id: '', space, scale: 'NONE', children: [] });
  return value === undefined || Number.isNaN(toCoordinate(value)) ? undefined : value;
}
