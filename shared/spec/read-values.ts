import { type Findings, type Located, placeOf } from '#shared/spec/findings.ts';
import type { SourceNode } from '#shared/spec/source-tree.ts';

/** A value that has been found under a name. */
export type FoundNode = { readonly path: string; readonly node: SourceNode };

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

/** A whole number; the API writes int64 as text. */
export function readInteger(found: FoundNode | undefined, findings: Findings): Located<number> | undefined {
  const text = readText(found, findings);
  if (text === undefined) {
    return undefined;
  }
  const value = Number(text.value);
  if (/^[+-]?\d{1,15}$/.test(text.value)) {
    return { ...text, value };
  }
  const remedy = `Write a whole number, such as 1.`;
  findings.problems.push({
    ...placeOf(text),
    code: 'WRONG_TYPE',
    message: `${text.path} is no whole number: "${text.value}".`,
    remedy,
  });
  return undefined;
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
