import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import type { Problem } from '#shared/protocol/problem.ts';

/** A job file's values with their line numbers (from 1). Aliases and merge keys are resolved. */
export type SourceNode =
  | { readonly kind: 'MAPPING'; readonly line: number; readonly entries: readonly SourceEntry[] }
  | { readonly kind: 'LIST'; readonly line: number; readonly items: readonly SourceNode[] }
  | {
      readonly kind: 'SCALAR';
      readonly line: number;
      readonly value: string | number | boolean | null;
      /** The text as written, so that version 1.10 does not become 1.1. */
      readonly text: string;
    };

export type SourceEntry = { readonly key: string; readonly line: number; readonly value: SourceNode };

/** Three times as deep as any job format nests; also ends recursive aliases. */
const DEPTH_MAX = 32;

/** Number of values after resolving aliases; bounds alias bombs. */
const VALUES_COUNT_MAX = 50_000;

type Walk = {
  readonly lines: LineCounter;
  readonly anchors: Map<string, Node>;
  readonly problems: Problem[];
  valuesCount: number;
  isAborted: boolean;
};

export type SourceTree = { readonly root: SourceNode | null; readonly problems: readonly Problem[] };

/** Converts the parsed document into plain values; null if it exceeds the limits. */
export function toSourceTree(contents: Node, lines: LineCounter): SourceTree {
  const walk: Walk = { lines, anchors: new Map(), problems: [], valuesCount: 0, isAborted: false };
  const root = convert(contents, 0, walk);
  return { root: walk.isAborted ? null : root, problems: walk.problems };
}

function convert(node: unknown, depth: number, walk: Walk): SourceNode {
  const line = lineOf(node, walk);
  walk.valuesCount += 1;
  if (depth > DEPTH_MAX) {
    abort(walk, { code: 'TOO_DEEP', message: `Values are nested deeper than ${DEPTH_MAX} levels.`, line });
  } else if (walk.valuesCount > VALUES_COUNT_MAX) {
    abort(walk, {
      code: 'TOO_MANY_VALUES',
      message: `The file has more than ${VALUES_COUNT_MAX} values after resolving aliases.`,
      line,
    });
  }
  if (walk.isAborted) {
    return nullAt(line);
  }
  if (isAlias(node)) {
    return resolveAlias(node, depth, walk);
  }
  recordAnchor(node, walk);
  if (isMap(node)) {
    return { kind: 'MAPPING', line, entries: convertEntries(node, depth, walk) };
  }
  if (isSeq(node)) {
    return { kind: 'LIST', line, items: node.items.map((item) => convert(item, depth + 1, walk)) };
  }
  return isScalar(node) ? convertScalar(node, line) : nullAt(line);
}

function convertScalar(node: Scalar, line: number): SourceNode {
  const { value } = node;
  const isPlain =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null;
  return { kind: 'SCALAR', line, value: isPlain ? value : String(value), text: node.source ?? String(value) };
}

function resolveAlias(alias: Alias, depth: number, walk: Walk): SourceNode {
  const line = lineOf(alias, walk);
  const target = walk.anchors.get(alias.source);
  if (target === undefined) {
    const remedy = `Define it above with &${alias.source}, or put the text in quotes.`;
    walk.problems.push({ code: 'NOT_YAML', message: `The alias *${alias.source} is not defined.`, remedy, line });
    walk.isAborted = true;
    return nullAt(line);
  }
  return convert(target, depth + 1, walk);
}

function recordAnchor(node: unknown, walk: Walk): void {
  if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
    walk.anchors.set(node.anchor, node);
  }
}

function convertEntries(map: YAMLMap, depth: number, walk: Walk): readonly SourceEntry[] {
  const entries = new Map<string, SourceEntry>();
  const merged: SourceEntry[] = [];
  for (const pair of map.items) {
    const entry = convertEntry(pair, depth, walk);
    if (walk.isAborted) {
      break;
    }
    const first = entries.get(entry.key);
    if (entry.key === '<<') {
      merged.push(...mergedEntries(entry.value));
    } else if (first === undefined) {
      entries.set(entry.key, entry);
    } else {
      const message = `"${entry.key}" is set twice: in line ${first.line} and in line ${entry.line}.`;
      walk.problems.push({ code: 'DUPLICATE_FIELD', message, remedy: 'Remove one of the two.', line: entry.line });
    }
  }
  for (const entry of merged) {
    if (!entries.has(entry.key)) {
      entries.set(entry.key, entry);
    }
  }
  return [...entries.values()];
}

function convertEntry(pair: Pair, depth: number, walk: Walk): SourceEntry {
  const key = convert(pair.key, depth + 1, walk);
  if (key.kind !== 'SCALAR') {
    const remedy = 'Write a field name before the colon; put text with brackets or braces in quotes.';
    walk.problems.push({
      code: 'NOT_YAML',
      message: 'A list or mapping is used as a field name.',
      remedy,
      line: key.line,
    });
  }
  const value = pair.value === null ? nullAt(key.line) : convert(pair.value, depth + 1, walk);
  return { key: key.kind === 'SCALAR' ? key.text : '', line: key.line, value };
}

/** YAML merge keys: explicit entries win over merged ones, and earlier merges over later ones. */
function mergedEntries(value: SourceNode): readonly SourceEntry[] {
  if (value.kind === 'MAPPING') {
    return value.entries;
  }
  return value.kind === 'LIST' ? value.items.flatMap(mergedEntries) : [];
}

function abort(walk: Walk, problem: Omit<Problem, 'remedy'>): void {
  if (!walk.isAborted) {
    walk.problems.push({
      ...problem,
      remedy: 'Write plain fields, without deep nesting and aliases.',
    });
  }
  walk.isAborted = true;
}

function nullAt(line: number): SourceNode {
  return { kind: 'SCALAR', line, value: null, text: '' };
}

function lineOf(node: unknown, { lines }: Walk): number {
  const hasRange = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node);
  return hasRange && node.range ? lines.linePos(node.range[0]).line : 1;
}
