import { type Findings, type Located, placeOf, refuse } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';

/** A value that has been found under a name. */
export type FoundNode = { readonly path: string; readonly node: SourceNode };

/** Of the digits before a point none can also be taken for one behind it, or a long text would take its square in time. */
const NUMBER_PATTERN = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** Text; numbers and booleans are taken as they are written. Undefined where nothing, or nothing usable, is said. */
export function readText(found: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  const { node, path } = found ?? { node: undefined, path: '' };
  if (node === undefined || isEmpty(node, path, findings)) {
    return undefined;
  }
  if (node.kind === 'SCALAR') {
    return { value: node.text, path, line: node.line };
  }
  refuseKind({ node, path }, 'text', findings);
  return undefined;
}

/** A whole number; the API writes int64 as text, and takes `2.0` and `1e3` (Protocol Buffers, "ProtoJSON Format"). */
export function readInteger(found: FoundNode | undefined, findings: Findings): Located<number> | undefined {
  const text = readText(found, findings);
  if (text === undefined) {
    return undefined;
  }
  const value = parseNumber(text.value);
  if (value !== undefined && Number.isSafeInteger(value)) {
    return { ...text, value: value === 0 ? 0 : value };
  }
  const message = `${text.path} is no whole number: "${text.value}".`;
  refuse(text, { code: 'WRONG_TYPE', message, remedy: 'Write a whole number, such as 1.' }, findings);
  return undefined;
}

/** A whole number, or the text of a placeholder that stands in its place; which is then among the problems. */
export function readCount(found: FoundNode | undefined, findings: Findings): Located<number | string> | undefined {
  const number = readInteger(found, findings);
  if (number !== undefined || found?.node.kind !== 'SCALAR' || !findPlaceholder(found.node.text, found.path)) {
    return number;
  }
  return { value: found.node.text, path: found.path, line: found.node.line };
}

/** A finite number in the spelling of JSON, YAML 1.1 or Python: `1e-5`, `.5`, `50.e9`; text counts as well. */
export function readNumber(found: FoundNode | undefined, findings: Findings): Located<number> | undefined {
  const text = readText(found, findings);
  if (text === undefined) {
    return undefined;
  }
  const value = parseNumber(text.value);
  if (value !== undefined) {
    return { ...text, value };
  }
  const message = `${text.path} is no number: "${text.value}".`;
  refuse(text, { code: 'WRONG_TYPE', message, remedy: 'Write a number, such as 0.1.' }, findings);
  return undefined;
}

export function parseNumber(text: string): number | undefined {
  const value = Number(text);
  return NUMBER_PATTERN.test(text) && Number.isFinite(value) ? value : undefined;
}

/** `true` or `false`, in any case, also as text. */
export function readBoolean(found: FoundNode | undefined, findings: Findings): Located<boolean> | undefined {
  const text = readText(found, findings);
  if (text === undefined) {
    return undefined;
  }
  const value = text.value.toLowerCase();
  if (value === 'true' || value === 'false') {
    return { ...text, value: value === 'true' };
  }
  const message = `${text.path} is neither true nor false: "${text.value}".`;
  refuse(text, { code: 'WRONG_TYPE', message, remedy: 'Write true or false.' }, findings);
  return undefined;
}

/** The mappings of a list; a mapping that stands alone is taken for a list of one, as gcloud does. */
export function readMappings(found: FoundNode | undefined, findings: Findings): readonly FoundNode[] {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return [];
  }
  const { node, path } = found;
  if (node.kind === 'LIST') {
    return node.items.map((item, index) => ({ node: item, path: `${path}[${index}]` }));
  }
  if (node.kind === 'SCALAR') {
    refuseKind(found, 'a list of mappings', findings);
    return [];
  }
  const message = `${path} is a mapping, not a list; it is taken for a list of one.`;
  const remedy = 'Write it as a list: begin its first line with "- " and indent the others.';
  findings.warnings.push({ code: 'LIST_OF_ONE', message, remedy, path, line: node.line });
  return [{ node, path: `${path}[0]` }];
}

/** A list of texts; what stands alone is taken for a list of one, as gcloud does. */
export function readTextList(found: FoundNode | undefined, findings: Findings): readonly Located<string>[] | undefined {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const { node, path } = found;
  if (node.kind === 'LIST') {
    return node.items.flatMap((item, index) => readListItem({ node: item, path: `${path}[${index}]` }, findings) ?? []);
  }
  const only = readText(found, findings);
  if (only !== undefined) {
    const message = `${path} is text, not a list; it is taken for a list of one.`;
    findings.warnings.push({
      code: 'LIST_OF_ONE',
      message,
      remedy: 'Write it as a list: begin the line with "- ".',
      ...placeOf(only),
    });
  }
  return only && [only];
}

function readListItem(item: FoundNode, findings: Findings): Located<string> | undefined {
  if (item.node.kind === 'SCALAR' && item.node.value === null) {
    const remedy = 'Remove it, or write "" for an empty text.';
    findings.problems.push({
      code: 'WRONG_TYPE',
      message: `${item.path} is empty.`,
      remedy,
      path: item.path,
      line: item.node.line,
    });
    return undefined;
  }
  return readText(item, findings);
}

/** Names with texts, as in `labels`. */
export function readTextMap(
  found: FoundNode | undefined,
  findings: Findings,
): readonly Located<{ readonly key: string; readonly text: string }>[] {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return [];
  }
  if (found.node.kind !== 'MAPPING') {
    refuseKind(found, 'a mapping of names to texts', findings);
    return [];
  }
  return found.node.entries.flatMap(({ key, line, value }) => {
    const path = `${found.path}.${key}`;
    const isNothing = value.kind === 'SCALAR' && value.value === null;
    const text = isNothing ? { value: '' } : readText({ node: value, path }, findings);
    return text === undefined ? [] : [{ value: { key, text: text.value }, path, line }];
  });
}

/** Says that a value has the wrong form. */
export function refuseKind({ node, path }: FoundNode, wanted: string, findings: Findings): void {
  const kinds = { MAPPING: 'a mapping', LIST: 'a list', SCALAR: 'a single value' } as const;
  const remedy =
    node.kind === 'MAPPING' && wanted === 'text'
      ? 'Put text that holds a colon and a space in quotes; otherwise write a single value.'
      : `Write ${wanted}; see that the lines below are indented as meant.`;
  const message = `${path} must be ${wanted}, but is ${kinds[node.kind]}.`;
  findings.problems.push({ code: 'WRONG_TYPE', message, remedy, path, line: node.line });
}

/** A field without a value is taken as not set, as the API does with null. */
export function isEmpty(node: SourceNode, path: string, findings: Findings): boolean {
  if (node.kind !== 'SCALAR' || node.value !== null) {
    return false;
  }
  const remedy = 'Write a value after the colon, or remove the field.';
  findings.warnings.push({
    code: 'EMPTY_FIELD',
    message: `${path} has no value and is left out.`,
    remedy,
    path,
    line: node.line,
  });
  return true;
}
