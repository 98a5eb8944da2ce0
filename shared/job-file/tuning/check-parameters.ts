import type { ConditionalParameter, Parameter, ParameterScale, ParameterSpace, Study } from '#shared/domain/study.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { ConditionalParameterDraft, ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import {
  type Findings,
  type Located,
  locationOf,
  reportInvalid,
  type SourceLocation,
} from '#shared/job-file/parser/findings.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { checkSpace, type ParameterReading } from '#shared/job-file/tuning/check-parameter-space.ts';
import { chooseMeaning, SCALES } from '#shared/job-file/tuning/study-enums.ts';

/** No search gets anywhere in so many dimensions, and each is an argument of the program. Children count as well. */
const PARAMETERS_COUNT_MAX = 500;

/** Where parameters are said. */
const PARAMETERS_FIELD = { 'ai-platform': 'params', 'vertex-ai': 'parameters', dropforge: 'parameters' } as const;

/** What is to be tuned; null where something is missing or wrong, which is then among the findings. */
export function checkParameters(study: StudyDraft, dialect: Dialect, findings: Findings): Study['parameters'] | null {
  const { parameters: drafts = [] } = study;
  const place = placeIn(study, PARAMETERS_FIELD[dialect]);
  const count = countAll(drafts);
  if (count === 0 || count > PARAMETERS_COUNT_MAX) {
    if (!hasProblemAt(place.path, findings)) {
      findings.problems.push({ ...describeCount(count), ...place });
    }
    return null;
  }
  const ids: Ids = new Map();
  const parameters = drafts.map((draft) => checkParameter(draft, { ids, condition: undefined }, findings));
  const [first, ...others] = parameters.filter((parameter) => parameter !== null);
  return first === undefined || others.length + 1 < parameters.length ? null : [first, ...others];
}

function countAll(parameters: readonly ParameterDraft[]): number {
  return parameters.reduce((sum, { children }) => sum + 1 + countAll(children.map(({ parameter }) => parameter)), 0);
}

function describeCount(count: number) {
  return count === 0
    ? {
        code: 'NO_PARAMETERS',
        message: 'The study has no parameters to tune.',
        remedy: 'Write at least one, with its name, its type and its range.',
      }
    : {
        code: 'TOO_MANY_PARAMETERS',
        message: `The study has ${count} parameters; it may have ${PARAMETERS_COUNT_MAX}.`,
        remedy: 'Tune those that matter most, and write the others into args.',
      };
}

type Use = { readonly ids: Ids; readonly condition: Condition };

function checkParameter(draft: ParameterDraft, use: Use, findings: Findings): Parameter | null {
  const reading = { draft, isToldOf: hasProblemAt(draft.path, findings) };
  const id = checkId(reading, findings);
  checkUnique(draft, use, findings);
  const space = checkSpace(reading, findings);
  const scale = checkScale(draft, space, findings);
  const children = draft.children.map((child) => checkChild(child, { parent: draft, space, ids: use.ids }, findings));
  return id === null || space === null || scale === null || !children.every((child) => child !== null)
    ? null
    : { id, space, scale, children };
}

function checkId({ draft, isToldOf }: ParameterReading, findings: Findings): string | null {
  const { id } = draft;
  if (id === undefined || id.value === '') {
    if (!isToldOf) {
      const message = `${draft.path} has no name.`;
      const remedy = 'Write the name of the flag that the program is given, such as learning_rate.';
      findings.problems.push({ code: 'PARAMETER_NAME_MISSING', message, remedy, ...placeIn(draft) });
    }
    return null;
  }
  if (!/[\s=\p{Cc}\p{Cs}]/u.test(id.value)) {
    return id.value;
  }
  const message = `${quote(id.value)} can be no parameter's name: the program is given it as a flag.`;
  const remedy = 'Write a name without blanks and equals signs, such as learning_rate.';
  reportInvalid(id, { code: 'INVALID_PARAMETER_NAME', message, remedy }, findings);
  return null;
}

/** Categories have no scale, and on a logarithmic one all values must be positive (both APIs, ScaleType). */
function checkScale(
  { scale: written }: ParameterDraft,
  space: ParameterSpace | null,
  findings: Findings,
): ParameterScale | null {
  const scale =
    written === undefined ? 'NONE' : chooseMeaning(written, { meanings: SCALES, code: 'UNKNOWN_SCALE_TYPE' }, findings);
  if (written === undefined || scale === null || scale === 'NONE' || space === null) {
    return scale;
  }
  const least = space.kind === 'CATEGORICAL' ? undefined : space.kind === 'DISCRETE' ? space.values[0] : space.min;
  if (least !== undefined && (scale === 'LINEAR' || least > 0)) {
    return scale;
  }
  if (space.kind === 'CATEGORICAL' || space.kind === 'DISCRETE') {
    const why = space.kind === 'CATEGORICAL' ? 'categories have none' : 'not all of the values are above 0';
    const message = `${written.path} has no effect: ${why}.`;
    findings.warnings.push({
      code: 'SCALE_WITHOUT_EFFECT',
      message,
      remedy: 'It can be removed.',
      ...locationOf(written),
    });
    return 'NONE';
  }
  const message = `${written.path} is logarithmic, but the range begins at ${space.min}.`;
  const remedy = 'Begin above 0, such as at 0.0001, or write UNIT_LINEAR_SCALE.';
  findings.problems.push({ code: 'LOG_SCALE_RANGE', message, remedy, ...locationOf(written) });
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
    const message = `${child.path} does not say for which values of its parent there is this parameter.`;
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
  const meant = space.kind === 'CATEGORICAL' ? value.value : parseNumber(value.value);
  if (meant !== undefined && isIn(space, meant)) {
    return meant;
  }
  const message = `${quote(value.value)} is no value of ${quote(parent.id?.value ?? parent.path)}.`;
  const remedy = 'Write one of the values that the parent can have.';
  reportInvalid(value, { code: 'PARENT_VALUES', message, remedy }, findings);
  return null;
}

function isIn(space: ParameterSpace, value: string | number): boolean {
  if (typeof value === 'string') {
    return space.kind === 'CATEGORICAL' && space.values.includes(value);
  }
  switch (space.kind) {
    case 'INTEGER':
      return Number.isInteger(value) && value >= space.min && value <= space.max;
    case 'DISCRETE':
      return space.values.includes(value);
    case 'DOUBLE':
    case 'CATEGORICAL':
      return false;
  }
}

/** Where a name is used: always, or for some values of a parent. */
type Condition = { readonly parent: ParameterDraft; readonly values: ReadonlySet<string | number | null> } | undefined;
type Ids = Map<string, Condition[]>;

/**
 * Names are unique, but for children of one parent that are never there together (StudySpec.ParameterSpec,
 * conditional_parameter_specs).
 */
function checkUnique({ id }: ParameterDraft, { ids, condition }: Use, findings: Findings): void {
  if (id === undefined || id.value === '') {
    return;
  }
  const others = ids.get(id.value) ?? [];
  if (others.some((other) => canMeet(other, condition))) {
    const message = `There are two parameters ${quote(id.value)}.`;
    findings.problems.push({
      code: 'DUPLICATE_PARAMETER',
      message,
      remedy: 'Rename one of the two.',
      ...locationOf(id),
    });
  }
  ids.set(id.value, [...others, condition]);
}

function canMeet(a: Condition, b: Condition): boolean {
  return a === undefined || b === undefined || a.parent !== b.parent || !a.values.isDisjointFrom(b.values);
}

function placeIn(
  { path, line }: { readonly path: string; readonly line: number | undefined },
  field?: string,
): SourceLocation {
  return { path: field === undefined ? path : `${path}.${field}`, ...(line !== undefined && { line }) };
}
