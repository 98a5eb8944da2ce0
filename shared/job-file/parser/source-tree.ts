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
import type { Problem } from '#shared/protocol/report.ts';

/** A job file's values with the lines they stand in (from 1), and nothing else of YAML: aliases and merges are followed. */
export type SourceNode =
  | { readonly kind: 'MAPPING'; readonly line: number; readonly entries: readonly SourceEntry[] }
  | { readonly kind: 'LIST'; readonly line: number; readonly items: readonly SourceNode[] }
  | {
      readonly kind: 'SCALAR';
      readonly line: number;
      readonly value: string | number | boolean | null;
      /** As it is written, so that the version 1.10 does not become 1.1. */
      readonly text: string;
    };

export type SourceEntry = { readonly key: string; readonly line: number; readonly value: SourceNode };

/** No job form nests a third as deep; aliases that hold themselves end here too. */
const DEPTH_MAX = 32;

/** Values after all aliases are followed: a bomb of aliases ends here. */
const VALUES_COUNT_MAX = 50_000;

type Walk = {
  readonly lines: LineCounter;
  readonly anchors: Map<string, Node>;
  readonly problems: Problem[];
  valuesCount: number;
  isGivenUp: boolean;
};

export type SourceTree = { readonly root: SourceNode | null; readonly problems: readonly Problem[] };

/** Turns the parsed document into plain values; null where it is too deep or too much. */
export function toSourceTree(contents: Node, lines: LineCounter): SourceTree {
  const walk: Walk = { lines, anchors: new Map(), problems: [], valuesCount: 0, isGivenUp: false };
  const root = convert(contents, 0, walk);
  return { root: walk.isGivenUp ? null : root, problems: walk.problems };
}

function convert(node: unknown, depth: number, walk: Walk): SourceNode {
  const line = lineOf(node, walk);
  walk.valuesCount += 1;
  if (depth > DEPTH_MAX) {
    giveUp(walk, { code: 'TOO_DEEP', message: `Values are nested deeper than ${DEPTH_MAX} levels.`, line });
  } else if (walk.valuesCount > VALUES_COUNT_MAX) {
    giveUp(walk, {
      code: 'TOO_MANY_VALUES',
      message: `The file holds more than ${VALUES_COUNT_MAX} values, aliases followed.`,
      line,
    });
  }
  if (walk.isGivenUp) {
    return nothingAt(line);
  }
  if (isAlias(node)) {
    return follow(node, depth, walk);
  }
  rememberAnchor(node, walk);
  if (isMap(node)) {
    return { kind: 'MAPPING', line, entries: convertEntries(node, depth, walk) };
  }
  if (isSeq(node)) {
    return { kind: 'LIST', line, items: node.items.map((item) => convert(item, depth + 1, walk)) };
  }
  return isScalar(node) ? convertScalar(node, line) : nothingAt(line);
}

function convertScalar(node: Scalar, line: number): SourceNode {
  const { value } = node;
  const isPlain =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null;
  return { kind: 'SCALAR', line, value: isPlain ? value : String(value), text: node.source ?? String(value) };
}

function follow(alias: Alias, depth: number, walk: Walk): SourceNode {
  const line = lineOf(alias, walk);
  const target = walk.anchors.get(alias.source);
  if (target === undefined) {
    const remedy = `Define it above with &${alias.source}, or put the text in quotes.`;
    walk.problems.push({ code: 'NOT_YAML', message: `The alias *${alias.source} stands for nothing.`, remedy, line });
    walk.isGivenUp = true;
    return nothingAt(line);
  }
  return convert(target, depth + 1, walk);
}

function rememberAnchor(node: unknown, walk: Walk): void {
  if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
    walk.anchors.set(node.anchor, node);
  }
}

function convertEntries(map: YAMLMap, depth: number, walk: Walk): readonly SourceEntry[] {
  const entries = new Map<string, SourceEntry>();
  const merged: SourceEntry[] = [];
  for (const pair of map.items) {
    const entry = convertEntry(pair, depth, walk);
    if (walk.isGivenUp) {
      break;
    }
    const first = entries.get(entry.key);
    if (entry.key === '<<') {
      merged.push(...mergedEntries(entry.value));
    } else if (first === undefined) {
      entries.set(entry.key, entry);
    } else {
      const message = `"${entry.key}" is said twice: in line ${first.line} and in line ${entry.line}.`;
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
    const remedy = 'Write the name of a field before the colon; text with brackets or braces must be in quotes.';
    walk.problems.push({
      code: 'NOT_YAML',
      message: 'A list or mapping stands where a name is meant.',
      remedy,
      line: key.line,
    });
  }
  const value = pair.value === null ? nothingAt(key.line) : convert(pair.value, depth + 1, walk);
  return { key: key.kind === 'SCALAR' ? key.text : '', line: key.line, value };
}

/** YAML's merge key: what it brings gives way to what is said beside it, and of several the first wins. */
function mergedEntries(value: SourceNode): readonly SourceEntry[] {
  if (value.kind === 'MAPPING') {
    return value.entries;
  }
  return value.kind === 'LIST' ? value.items.flatMap(mergedEntries) : [];
}

function giveUp(walk: Walk, problem: Omit<Problem, 'remedy'>): void {
  if (!walk.isGivenUp) {
    walk.problems.push({
      ...problem,
      remedy: 'A job file is a page of plain fields: write it out without nesting and aliases.',
    });
  }
  walk.isGivenUp = true;
}

function nothingAt(line: number): SourceNode {
  return { kind: 'SCALAR', line, value: null, text: '' };
}

function lineOf(node: unknown, { lines }: Walk): number {
  const hasRange = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node);
  return hasRange && node.range ? lines.linePos(node.range[0]).line : 1;
}
