import type { ParameterSpace } from '#shared/domain/study.ts';
import type { ParameterDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { chooseMeaning, KINDS } from '#shared/job-file/tuning/study-enums.ts';

/** Both APIs' limit for discrete values; for categories it is this version's own. */
const VALUES_COUNT_MAX = 1_000;

/** AI Platform's word for a type that was forgotten: "using this unspecified type will result in an error". */
const KIND_UNSPECIFIED = 'PARAMETER_TYPE_UNSPECIFIED';

/** A parameter, and whether something in it could not be read, which need not be called missing as well. */
export type ParameterReading = { readonly draft: ParameterDraft; readonly isToldOf: boolean };

/** What values a parameter can have; null where that is missing or wrong, which is then among the findings. */
export function checkSpace(reading: ParameterReading, findings: Findings): ParameterSpace | null {
  const { draft } = reading;
  const { kind: written } = draft;
  if (written === undefined || written.value === KIND_UNSPECIFIED) {
    const remedy = 'Write its type: DOUBLE, INTEGER, CATEGORICAL or DISCRETE.';
    return tell(reading, { code: 'PARAMETER_TYPE_MISSING', what: 'has no type', remedy }, findings);
  }
  const kind = chooseMeaning(written, { meanings: KINDS, code: 'UNKNOWN_PARAMETER_TYPE' }, findings);
  switch (kind) {
    case null:
      return null;
    case 'DOUBLE':
    case 'INTEGER':
      noteWithoutEffect(draft.values?.[0], kind, findings);
      return checkRange(reading, kind, findings);
    case 'CATEGORICAL':
    case 'DISCRETE':
      noteWithoutEffect(draft.min ?? draft.max, kind, findings);
      return checkList(reading, kind, findings);
  }
}

function checkRange(reading: ParameterReading, kind: 'DOUBLE' | 'INTEGER', findings: Findings): ParameterSpace | null {
  const { draft } = reading;
  const { min, max } = draft;
  if (min === undefined || max === undefined) {
    const what = min === max ? 'has no bounds' : `has no ${min === undefined ? 'lower' : 'upper'} bound`;
    const remedy = 'Write its least and its greatest value.';
    return tell(reading, { code: 'PARAMETER_BOUNDS', what, remedy }, findings);
  }
  const broken = [min, max].find(({ value }) => kind === 'INTEGER' && !Number.isInteger(value));
  if (broken !== undefined) {
    const message = `${broken.path} is ${broken.value}, but the parameter's type is INTEGER.`;
    const remedy = 'Write a whole number, or make the type DOUBLE.';
    findings.problems.push({ code: 'PARAMETER_BOUNDS', message, remedy, ...locationOf(broken) });
    return null;
  }
  if (min.value > max.value) {
    const message = `${min.path} is ${min.value}, more than the greatest value, which is ${max.value}.`;
    findings.problems.push({ code: 'PARAMETER_BOUNDS', message, remedy: 'Exchange the two.', ...locationOf(min) });
    return null;
  }
  if (min.value === max.value) {
    const message = `The parameter ${nameOf(draft)} can only be ${min.value}: there is nothing to tune.`;
    const remedy = 'Write it into args, unless it is meant to be so.';
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
    const remedy = 'List what it can be.';
    return tell(reading, { code: 'PARAMETER_VALUES', what: 'has no values', remedy }, findings);
  }
  if (values.length > VALUES_COUNT_MAX) {
    const message = `The parameter ${nameOf(draft)} has ${values.length} values; it may have ${VALUES_COUNT_MAX}.`;
    const remedy = 'List fewer, or give it a range.';
    findings.problems.push({ code: 'PARAMETER_VALUES', message, remedy, ...locationOf(first) });
    return null;
  }
  return kind === 'DISCRETE' ? checkNumbers(values, findings) : checkCategories(values, findings);
}

function checkCategories(written: readonly Located<string>[], findings: Findings): ParameterSpace | null {
  const values = written.map(({ value }) => value);
  const again = written.find(({ value }, index) => values.indexOf(value) < index);
  if (again === undefined) {
    return { kind: 'CATEGORICAL', values };
  }
  const message = `${again.path} is ${quote(again.value)}, which is in the list already.`;
  findings.problems.push({ code: 'PARAMETER_VALUES', message, remedy: 'Remove one of the two.', ...locationOf(again) });
  return null;
}

/** Numbers in strictly increasing order (both APIs). */
function checkNumbers(written: readonly Located<string>[], findings: Findings): ParameterSpace | null {
  const values: number[] = [];
  for (const item of written) {
    const value = parseNumber(item.value);
    if (value === undefined) {
      const message = `${item.path} is no number: ${quote(item.value)}.`;
      const remedy = 'Write a number, or make the parameter categorical, which may have any texts for values.';
      reportInvalid(item, { code: 'PARAMETER_VALUES', message, remedy }, findings);
      return null;
    }
    const last = values.at(-1);
    if (last !== undefined && value <= last) {
      const message = `${item.path} is ${value}, after ${last}: discrete values are in increasing order, each of them once.`;
      findings.problems.push({ code: 'PARAMETER_VALUES', message, remedy: 'Sort the values.', ...locationOf(item) });
      return null;
    }
    values.push(value);
  }
  return { kind: 'DISCRETE', values };
}

function noteWithoutEffect(stray: Located<unknown> | undefined, kind: string, findings: Findings): void {
  if (stray !== undefined) {
    const path = stray.path.replace(/\[\d+\]$/, '');
    const message = `${path} has no effect: the parameter's type is ${kind}.`;
    const remedy = 'Remove it, or correct the type.';
    findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf({ ...stray, path }) });
  }
}

type Lack = { readonly code: string; readonly what: string; readonly remedy: string };

function tell({ draft, isToldOf }: ParameterReading, { code, what, remedy }: Lack, findings: Findings): null {
  if (!isToldOf) {
    const { path, line } = draft;
    const message = `The parameter ${nameOf(draft)} ${what}.`;
    findings.problems.push({ code, message, remedy, path, ...(line !== undefined && { line }) });
  }
  return null;
}

function nameOf({ id, path }: ParameterDraft): string {
  return id === undefined ? path : quote(id.value);
}
