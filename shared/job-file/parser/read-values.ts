import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';

/** A value of the file with its path. */
export type FoundNode = { readonly path: string; readonly node: SourceNode };

export function locationOfNode({ path, node }: FoundNode): { readonly path: string; readonly line: number } {
  return { path, line: node.line };
}

/** Digits before and after the point cannot match each other's part: otherwise matching would take quadratic time. */
const NUMBER_PATTERN = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** Text; numbers and booleans as written. Undefined if absent or invalid, as for all readers below. */
export function readText(found: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  if (found.node.kind === 'SCALAR') {
    return { value: found.node.text, ...locationOfNode(found) };
  }
  reportWrongKind(found, 'text', findings);
  return undefined;
}

/** A kind of scalar: how it is parsed, what the message says of other texts, and an example for the remedy. */
type Scalar<T> = {
  readonly parse: (text: string) => T | undefined;
  readonly isNot: string;
  readonly example: string;
};

function scalarReader<T>({ parse, isNot, example }: Scalar<T>) {
  return (found: FoundNode | undefined, findings: Findings): Located<T> | undefined => {
    const text = readText(found, findings);
    const value = text && parse(text.value);
    if (text === undefined || value !== undefined) {
      return text && value !== undefined ? { ...text, value } : undefined;
    }
    const message = `${text.path} is ${isNot}: "${text.value}".`;
    reportInvalid(text, { code: 'WRONG_TYPE', message, remedy: `Write ${example}.` }, findings);
    return undefined;
  };
}

/** An integer; the API writes int64 as text, and accepts `2.0` and `1e3` (Protocol Buffers, "ProtoJSON Format"). */
export const readInteger = scalarReader({
  parse: parseInteger,
  isNot: 'not an integer',
  example: 'an integer, such as 1',
});

function parseInteger(text: string): number | undefined {
  const value = parseNumber(text);
  return value === undefined || !Number.isSafeInteger(value) ? undefined : value === 0 ? 0 : value;
}

/** A number of GiB; also with a unit, in which `GB` means the same as `GiB`: `200 GB`, `1 TiB`. */
export const readGib = scalarReader({
  parse: (text) => {
    const [, digits, unit] = /^(\d{1,6}) ?([gt])i?b?$/i.exec(text) ?? [];
    return digits === undefined ? parseInteger(text) : Number(digits) * (unit?.toLowerCase() === 't' ? 1_024 : 1);
  },
  isNot: 'not a size in GiB',
  example: 'a number of GiB, such as 200',
});

/** An integer, or the text of an unreplaced placeholder, which is reported as a problem. */
export function readCount(found: FoundNode | undefined, findings: Findings): Located<number | string> | undefined {
  const number = readInteger(found, findings);
  if (number !== undefined || found?.node.kind !== 'SCALAR' || !findPlaceholder(found.node.text, found.path)) {
    return number;
  }
  return { value: found.node.text, ...locationOfNode(found) };
}

/** A finite number as JSON, YAML 1.1 or Python write it: `1e-5`, `.5`, `50.e9`; also as text. */
export const readNumber = scalarReader({ parse: parseNumber, isNot: 'not a number', example: 'a number, such as 0.1' });

export function parseNumber(text: string): number | undefined {
  const value = Number(text);
  return NUMBER_PATTERN.test(text) && Number.isFinite(value) ? value : undefined;
}

/** `true` or `false`, case-insensitive; also as text. */
export const readBoolean = scalarReader({
  parse: (text) => [true, false].find((value) => String(value) === text.toLowerCase()),
  isNot: 'neither true nor false',
  example: 'true or false',
});

/** The mappings of a list; a single mapping is treated as a list of one, as gcloud does. */
export function readMappings(found: FoundNode | undefined, findings: Findings): readonly FoundNode[] {
  if (!hasValue(found, findings)) {
    return [];
  }
  const { node, path } = found;
  if (node.kind === 'LIST') {
    return node.items.map((item, index) => ({ node: item, path: `${path}[${index}]` }));
  }
  if (node.kind === 'SCALAR') {
    reportWrongKind(found, 'a list of mappings', findings);
    return [];
  }
  const message = `${path} is a mapping, not a list; it is treated as a list of one.`;
  const remedy = 'Write it as a list: start its first line with "- " and indent the others.';
  findings.warnings.push({ code: 'LIST_OF_ONE', message, remedy, ...locationOfNode(found) });
  return [{ node, path: `${path}[0]` }];
}

/** A list of texts; a single value is treated as a list of one, as gcloud does. */
export function readTextList(found: FoundNode | undefined, findings: Findings): readonly Located<string>[] | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  const { node, path } = found;
  if (node.kind === 'LIST') {
    return node.items.flatMap((item, index) => readListItem({ node: item, path: `${path}[${index}]` }, findings) ?? []);
  }
  const only = readText(found, findings);
  if (only !== undefined) {
    const message = `${path} is text, not a list; it is treated as a list of one.`;
    const remedy = /\s/.test(only.value.trim())
      ? 'Write it as a list, with an item for each word: no shell splits it.'
      : 'Write it as a list: start the line with "- ".';
    findings.warnings.push({ code: 'LIST_OF_ONE', message, remedy, ...locationOf(only) });
  }
  return only && [only];
}

function readListItem(item: FoundNode, findings: Findings): Located<string> | undefined {
  if (isNull(item.node)) {
    const remedy = 'Remove it, or write "" for an empty text.';
    const message = `${item.path} is empty.`;
    findings.problems.push({ code: 'WRONG_TYPE', message, remedy, ...locationOfNode(item) });
    return undefined;
  }
  return readText(item, findings);
}

/** A mapping of names to texts, as in `labels`; a null value is an empty text. */
export function readTextMap(
  found: FoundNode | undefined,
  findings: Findings,
): readonly Located<{ readonly key: string; readonly text: string }>[] {
  if (!hasValue(found, findings)) {
    return [];
  }
  if (found.node.kind !== 'MAPPING') {
    reportWrongKind(found, 'a mapping of names to texts', findings);
    return [];
  }
  return found.node.entries.flatMap(({ key, line, value }) => {
    const path = `${found.path}.${key}`;
    const text = isNull(value) ? { value: '' } : readText({ node: value, path }, findings);
    return text === undefined ? [] : [{ value: { key, text: text.value }, path, line }];
  });
}

/** Reports a value that is a mapping, a list or a single value where another of them is expected. */
export function reportWrongKind({ node, path }: FoundNode, expected: string, findings: Findings): void {
  const kinds = { MAPPING: 'a mapping', LIST: 'a list', SCALAR: 'a single value' } as const;
  const remedy =
    node.kind === 'MAPPING' && expected === 'text'
      ? 'Put text that contains a colon and a space in quotes; otherwise write a single value.'
      : `Write ${expected}; check the indentation of the lines below.`;
  const message = `${path} must be ${expected}, but is ${kinds[node.kind]}.`;
  findings.problems.push({ code: 'WRONG_TYPE', message, remedy, path, line: node.line });
}

/** Whether a field has a value. Null is treated as absent, as the API does, with a warning. */
export function hasValue(found: FoundNode | undefined, findings: Findings): found is FoundNode {
  if (found === undefined || !isNull(found.node)) {
    return found !== undefined;
  }
  const message = `${found.path} has no value and is ignored.`;
  const remedy = 'Write a value after the colon, or remove the field.';
  findings.warnings.push({ code: 'EMPTY_FIELD', message, remedy, ...locationOfNode(found) });
  return false;
}

/** Whether a value is null, as in YAML when nothing follows the colon. */
export function isNull(node: SourceNode): boolean {
  return node.kind === 'SCALAR' && node.value === null;
}
