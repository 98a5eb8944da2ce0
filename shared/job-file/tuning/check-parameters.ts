import type { ConditionalParameter, Parameter, ParameterScale, ParameterSpace, Study } from '#shared/domain/study.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { ConditionalParameterDraft, ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { checkValue, valueIn } from '#shared/job-file/tuning/check-start.ts';
import { isReservedName } from '#shared/job-file/tuning/reserved-names.ts';
import { KINDS, resolveAlias, SCALES } from '#shared/job-file/tuning/study-enums.ts';
import { warnOfOtherType } from '#shared/job-file/tuning/warn-of-no-effect.ts';

/** Larger searches are not feasible, and each parameter is an argument of the program. Includes children. */
export const PARAMETERS_COUNT_MAX = 500;

/** Both APIs' limit of discrete values; for categories it is Dropforge's own. */
const VALUES_COUNT_MAX = 1_000;

/** AI Platform's enum value for a missing type: "using this unspecified type will result in an error". */
const KIND_UNSPECIFIED = 'PARAMETER_TYPE_UNSPECIFIED';

/** The field that contains the parameters. */
const PARAMETERS_FIELD = { 'ai-platform': 'params', 'vertex-ai': 'parameters', dropforge: 'parameters' } as const;

/** The parameters to tune; null if one is missing or invalid. A study that resumes another needs none. */
export function checkParameters(study: StudyDraft, dialect: Dialect, findings: Findings): Study['parameters'] | null {
  const { parameters: drafts = [] } = study;
  const location = { ...locationOf(study), path: `${study.path}.${PARAMETERS_FIELD[dialect]}` };
  const count = countAll(drafts);
  if (count === 0 && (study.resumeJobId?.value ?? '') !== '' && !hasProblemAt(location.path, findings)) {
    return [];
  }
  if (count === 0 || count > PARAMETERS_COUNT_MAX) {
    if (!hasProblemAt(location.path, findings)) {
      findings.problems.push({ ...describeCount(count), ...location });
    }
    return null;
  }
  const ids: Ids = new Map();
  const parameters = drafts.map((draft) => checkParameter(draft, { ids, condition: undefined }, findings));
  const valid = parameters.filter((parameter) => parameter !== null);
  return valid.length < parameters.length ? null : valid;
}

function countAll(parameters: readonly ParameterDraft[]): number {
  return parameters.reduce((sum, { children }) => sum + 1 + countAll(children.map(({ parameter }) => parameter)), 0);
}

function describeCount(count: number) {
  return count === 0
    ? {
        code: 'NO_PARAMETERS',
        message: 'The study has no parameters to tune.',
        remedy: 'Write at least one, with its name, type and range.',
      }
    : {
        code: 'TOO_MANY_PARAMETERS',
        message: `The study has ${count} parameters; the maximum is ${PARAMETERS_COUNT_MAX}.`,
        remedy: 'Tune the most important ones, and pass the others as fixed arguments.',
      };
}

type Context = { readonly ids: Ids; readonly condition: Condition };

function checkParameter(draft: ParameterDraft, context: Context, findings: Findings): Parameter | null {
  const reading = { draft, hasProblem: hasProblemAt(draft.path, findings) };
  const id = checkId(reading, findings);
  checkUnique(draft, context, findings);
  const space = checkSpace(reading, findings);
  const scale = checkScale(draft, space, findings);
  const children = draft.children.map((child) =>
    checkChild(child, { parent: draft, space, ids: context.ids }, findings),
  );
  if (id === null || space === null || scale === null || !children.every((child) => child !== null)) {
    return null;
  }
  const fallback = draft.default && checkValue(draft.default, { id, space }, findings);
  return { id, space, scale, children, ...(fallback !== undefined && { default: fallback }) };
}

function checkId({ draft, hasProblem }: ParameterReading, findings: Findings): string | null {
  const { id } = draft;
  if (id === undefined || id.value === '') {
    if (!hasProblem) {
      const message = `${draft.path} has no name.`;
      const remedy = 'Write the name of the program flag for the parameter, such as learning_rate.';
      findings.problems.push({ code: 'PARAMETER_NAME_MISSING', message, remedy, ...locationOf(draft) });
    }
    return null;
  }
  const reason = isReservedName(id.value)
    ? 'it is reserved'
    : /^-|[\s=\p{Cc}\p{Cs}]/u.test(id.value)
      ? 'it is passed to the program as a flag'
      : id.value === 'job-dir'
        ? 'each trial has its own --job-dir'
        : null;
  if (reason === null) {
    return id.value;
  }
  const message = `${quote(id.value)} is not a valid parameter name: ${reason}.`;
  const remedy = 'Write a name without leading hyphens, spaces and equals signs, such as learning_rate.';
  reportInvalid(id, { code: 'INVALID_PARAMETER_NAME', message, remedy }, findings);
  return null;
}

/** A parameter, and whether part of it has a problem already and so must not be reported as missing. */
type ParameterReading = { readonly draft: ParameterDraft; readonly hasProblem: boolean };

/** The values that a parameter can have; null if missing or invalid. */
function checkSpace(reading: ParameterReading, findings: Findings): ParameterSpace | null {
  const { draft } = reading;
  const { kind: given } = draft;
  if (given === undefined || given.value === KIND_UNSPECIFIED) {
    const remedy = 'Write its type: DOUBLE, INTEGER, CATEGORICAL or DISCRETE.';
    return rejectIncomplete(reading, { code: 'PARAMETER_TYPE_MISSING', what: 'has no type', remedy }, findings);
  }
  const kind = resolveAlias(given, { aliases: KINDS, code: 'UNKNOWN_PARAMETER_TYPE' }, findings);
  switch (kind) {
    case null:
      return null;
    case 'DOUBLE':
    case 'INTEGER':
      warnOfOtherType(draft.values?.[0], kind, findings);
      return checkRange(reading, kind, findings);
    case 'CATEGORICAL':
    case 'DISCRETE':
      warnOfOtherType(draft.min ?? draft.max, kind, findings);
      return checkList(reading, kind, findings);
  }
}

function checkRange(reading: ParameterReading, kind: 'DOUBLE' | 'INTEGER', findings: Findings): ParameterSpace | null {
  const { draft } = reading;
  const { min, max } = draft;
  if (min === undefined || max === undefined) {
    const what = min === max ? 'has no bounds' : `has no ${min === undefined ? 'lower' : 'upper'} bound`;
    const remedy = 'Write its minimum and maximum.';
    return rejectIncomplete(reading, { code: 'PARAMETER_BOUNDS', what, remedy }, findings);
  }
  const fractional = [min, max].find(({ value }) => kind === 'INTEGER' && !Number.isInteger(value));
  if (fractional !== undefined) {
    const message = `${fractional.path} is ${fractional.value}, but the parameter's type is INTEGER.`;
    const remedy = 'Write an integer, or change the type to DOUBLE.';
    findings.problems.push({ code: 'PARAMETER_BOUNDS', message, remedy, ...locationOf(fractional) });
    return null;
  }
  if (min.value > max.value) {
    const message = `${min.path} is ${min.value}, which is greater than the maximum ${max.value}.`;
    findings.problems.push({ code: 'PARAMETER_BOUNDS', message, remedy: 'Swap the two values.', ...locationOf(min) });
    return null;
  }
  if (min.value === max.value) {
    const message = `The parameter ${nameOf(draft)} has a single value, ${min.value}: there is nothing to tune.`;
    const remedy = 'Pass it as a fixed argument, unless this is intended.';
    findings.warnings.push({ code: 'SINGLE_VALUE', message, remedy, ...locationOf(min) });
  }
  return { kind, min: min.value, max: max.value };
}

function checkList(
  reading: ParameterReading,
  kind: 'CATEGORICAL' | 'DISCRETE',
  findings: Findings,
): ParameterSpace | null {
  const { draft } = reading;
  const { values = [] } = draft;
  const [first] = values;
  if (first === undefined) {
    const remedy = 'List the possible values.';
    return rejectIncomplete(reading, { code: 'PARAMETER_VALUES', what: 'has no values', remedy }, findings);
  }
  if (values.length > VALUES_COUNT_MAX) {
    const message = `The parameter ${nameOf(draft)} has ${values.length} values; the maximum is ${VALUES_COUNT_MAX}.`;
    const remedy = 'List fewer values, or use a range.';
    findings.problems.push({ code: 'PARAMETER_VALUES', message, remedy, ...locationOf(first) });
    return null;
  }
  return kind === 'DISCRETE' ? checkNumbers(values, findings) : checkCategories(values, findings);
}

function checkCategories(given: readonly Located<string>[], findings: Findings): ParameterSpace | null {
  const values = given.map(({ value }) => value);
  const duplicate = given.find(({ value }, index) => values.indexOf(value) < index);
  if (duplicate === undefined) {
    return { kind: 'CATEGORICAL', values };
  }
  const message = `${duplicate.path} is ${quote(duplicate.value)}, which is already in the list.`;
  findings.problems.push({
    code: 'PARAMETER_VALUES',
    message,
    remedy: 'Remove one of the two.',
    ...locationOf(duplicate),
  });
  return null;
}

/** Discrete values must be strictly increasing numbers (both APIs). */
function checkNumbers(given: readonly Located<string>[], findings: Findings): ParameterSpace | null {
  const values: number[] = [];
  for (const item of given) {
    const value = parseNumber(item.value);
    if (value === undefined) {
      const message = `${item.path} is not a number: ${quote(item.value)}.`;
      const remedy = 'Write a number, or change the type to CATEGORICAL, which allows any strings.';
      reportInvalid(item, { code: 'PARAMETER_VALUES', message, remedy }, findings);
      return null;
    }
    const last = values.at(-1);
    if (last !== undefined && value <= last) {
      const message = `${item.path} is ${value}, after ${last}: discrete values must be strictly increasing.`;
      findings.problems.push({
        code: 'PARAMETER_VALUES',
        message,
        remedy: 'Sort the values and remove duplicates.',
        ...locationOf(item),
      });
      return null;
    }
    values.push(value);
  }
  return { kind: 'DISCRETE', values };
}

type Incomplete = { readonly code: string; readonly what: string; readonly remedy: string };

function rejectIncomplete(
  { draft, hasProblem }: ParameterReading,
  { code, what, remedy }: Incomplete,
  findings: Findings,
): null {
  if (!hasProblem) {
    const message = `The parameter ${nameOf(draft)} ${what}.`;
    findings.problems.push({ code, message, remedy, ...locationOf(draft) });
  }
  return null;
}

function nameOf({ id, path }: ParameterDraft): string {
  return id === undefined ? path : quote(id.value);
}

/** Categories have no scale, and a logarithmic scale requires positive values (both APIs, ScaleType). */
function checkScale(
  { scale: given }: ParameterDraft,
  space: ParameterSpace | null,
  findings: Findings,
): ParameterScale | null {
  const scale =
    given === undefined ? 'NONE' : resolveAlias(given, { aliases: SCALES, code: 'UNKNOWN_SCALE_TYPE' }, findings);
  if (given === undefined || scale === null || scale === 'NONE' || space === null) {
    return scale;
  }
  const least = space.kind === 'CATEGORICAL' ? undefined : space.kind === 'DISCRETE' ? space.values[0] : space.min;
  if (least !== undefined && (scale === 'LINEAR' || least > 0)) {
    return scale;
  }
  if (space.kind === 'CATEGORICAL' || space.kind === 'DISCRETE') {
    const reason = space.kind === 'CATEGORICAL' ? 'categories have no scale' : 'not all values are greater than 0';
    const message = `${given.path} has no effect: ${reason}.`;
    findings.warnings.push({
      code: 'SCALE_WITHOUT_EFFECT',
      message,
      remedy: 'Remove it.',
      ...locationOf(given),
    });
    return 'NONE';
  }
  const message = `${given.path} is logarithmic, but the range starts at ${space.min}.`;
  const remedy = 'Start above 0, for example at 0.0001, or choose the linear scale.';
  findings.problems.push({ code: 'LOG_SCALE_RANGE', message, remedy, ...locationOf(given) });
  return null;
}

type Parent = { readonly parent: ParameterDraft; readonly space: ParameterSpace | null; readonly ids: Ids };

function checkChild(
  child: ConditionalParameterDraft,
  { parent, space, ids }: Parent,
  findings: Findings,
): ConditionalParameter | null {
  const values = child.parentValues.map((value) => checkParentValue(value, { parent, space }, findings));
  if (values.length === 0 && !findings.problems.some(({ path }) => path === child.path)) {
    const message = `${child.path} does not list the values of its parent for which this parameter is used.`;
    findings.problems.push({ code: 'PARENT_VALUES', message, remedy: 'List those values.', path: child.path });
  }
  const parameter = checkParameter(child.parameter, { ids, condition: { parent, values: new Set(values) } }, findings);
  const parentValues = values.filter((value) => value !== null);
  return parameter === null || parentValues.length === 0 || parentValues.length < values.length
    ? null
    : { parentValues, parameter };
}

function checkParentValue(
  value: Located<string>,
  { parent, space }: Omit<Parent, 'ids'>,
  findings: Findings,
): string | number | null {
  if (space === null) {
    return null;
  }
  const parsed = space.kind === 'DOUBLE' ? undefined : valueIn(space, value.value);
  if (parsed !== undefined) {
    return parsed;
  }
  const message = `${quote(value.value)} is not a value of ${quote(parent.id?.value ?? parent.path)}.`;
  const remedy = 'Write one of the values that the parent can have.';
  reportInvalid(value, { code: 'PARENT_VALUES', message, remedy }, findings);
  return null;
}

/** When a parameter is used: always, or for some values of its parent. */
type Condition = { readonly parent: ParameterDraft; readonly values: ReadonlySet<string | number | null> } | undefined;
type Ids = Map<string, Condition[]>;

/**
 * Parameter names must be unique, except for children of one parent that are never used together
 * (StudySpec.ParameterSpec, conditional_parameter_specs).
 */
function checkUnique({ id }: ParameterDraft, { ids, condition }: Context, findings: Findings): void {
  if (id === undefined || id.value === '') {
    return;
  }
  const others = ids.get(id.value) ?? [];
  if (others.some((other) => canCoincide(other, condition))) {
    const message = `The parameter name ${quote(id.value)} is used twice.`;
    findings.problems.push({
      code: 'DUPLICATE_PARAMETER',
      message,
      remedy: 'Rename one of the parameters.',
      ...locationOf(id),
    });
  }
  ids.set(id.value, [...others, condition]);
}

function canCoincide(a: Condition, b: Condition): boolean {
  return a === undefined || b === undefined || a.parent !== b.parent || !a.values.isDisjointFrom(b.values);
}
