import { findStringEnd } from '#shared/package/scan/python-text.ts';

/** A Python literal of the kinds used for packaging: strings, and lists and dictionaries of strings. */
export type SetupLiteral = string | readonly string[] | ReadonlyMap<string, string>;

/** Tokens: white space, comments, starts of strings with their prefix, dotted names. */
const SPACE = /\s+/y;
const COMMENT = /#[^\n]*/y;
const STRING_START = /(?<prefix>[rRbBuUfF]{0,2})(?<quote>"""|'''|"|')/y;
const NAME = /[\p{L}_][\p{L}\p{N}_.]*/uy;

const NAME_START = /^[\p{L}_]/u;
/** Keywords that continue an expression. */
const OPERATORS: ReadonlySet<string> = new Set(['if', 'for', 'or', 'and', 'in', 'not', 'is']);

type Token = { readonly text: string; readonly literal: string | null };

/**
 * The arguments of `setup(…)` in a setup.py by name, as far as they are literals or constants with a literal value.
 * Runs no code. Computed values (calls, concatenations, modified lists) are omitted: they are unknown, not errors.
 */
export function readSetupArguments(script: string): ReadonlyMap<string, SetupLiteral> {
  const tokens = tokenize(script);
  const found = new Map<string, SetupLiteral>();
  const call = tokens.findIndex(({ text }, index) => /(?:^|\.)setup$/.test(text) && tokens[index + 1]?.text === '(');
  if (call < 0) {
    return found;
  }
  const mentions = indexMentions(tokens);
  let depth = 0;
  for (let index = call + 1; index < tokens.length; index += 1) {
    const { text, literal } = tokens[index] ?? { text: '', literal: null };
    if (literal !== null) {
      continue;
    }
    if ('([{'.includes(text)) {
      depth += 1;
    } else if (')]}'.includes(text)) {
      depth -= 1;
      if (depth === 0) {
        break;
      }
    } else if (depth === 1 && tokens[index + 1]?.text === '=' && tokens[index - 1]?.text.match(/^[(,]$/)) {
      const value = readLiteral(tokens, index + 2) ?? readConstant(tokens, index + 2, mentions);
      if (value !== null) {
        found.set(text, value);
      }
    }
  }
  return found;
}

function tokenize(script: string): Token[] {
  const tokens: Token[] = [];
  let index = 0;
  while (index < script.length) {
    const string = matchAt(STRING_START, script, index)?.groups;
    const skipped = matchAt(SPACE, script, index) ?? matchAt(COMMENT, script, index);
    if (skipped !== null) {
      index += skipped[0].length;
    } else if (string !== undefined) {
      const { prefix = '', quote = '' } = string;
      const start = index + prefix.length + quote.length;
      const end = findStringEnd(script, start, quote);
      const body = script.slice(start, end);
      const isPlain = !/[fb]/i.test(prefix) && !body.includes('\\');
      tokens.push({ text: quote, literal: isPlain ? body : null });
      index = end + quote.length;
    } else {
      const text = matchAt(NAME, script, index)?.[0] ?? script.charAt(index);
      tokens.push({ text, literal: null });
      index += text.length;
    }
  }
  return tokens;
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

/** The literal that starts at a token, if it is the complete argument. */
function readLiteral(tokens: readonly Token[], start: number): SetupLiteral | null {
  const [value, next] = readValue(tokens, start);
  const after = tokens[next]?.text;
  return after === ',' || after === ')' ? value : null;
}

/**
 * Resolves `install_requires=REQUIRED` after `REQUIRED = ['numpy']`. The name must not occur anywhere else in the
 * script, where the list could be modified.
 */
function readConstant(tokens: readonly Token[], start: number, mentions: Mentions): SetupLiteral | null {
  const name = tokens[start]?.text ?? '';
  const after = tokens[start + 1]?.text;
  const positions = mentions.get(name) ?? [];
  const [first = start, second] = positions;
  if (positions.length !== 2 || second !== start || (after !== ',' && after !== ')')) {
    return null;
  }
  if (tokens[first]?.text !== name || tokens[first + 1]?.text !== '=') {
    return null;
  }
  const [value, next] = readValue(tokens, first + 2);
  const rest = tokens[next];
  // A name starts the next statement; any other token may continue this one.
  const isStatementEnd = rest === undefined || (NAME_START.test(rest.text) && !OPERATORS.has(rest.text));
  return isStatementEnd ? value : null;
}

/** Positions of names, including `x` in `x.append`. */
type Mentions = ReadonlyMap<string, readonly number[]>;

function indexMentions(tokens: readonly Token[]): Mentions {
  const mentions = new Map<string, number[]>();
  for (const [index, { text, literal }] of tokens.entries()) {
    if (literal === null && NAME_START.test(text)) {
      const name = text.split('.', 1)[0] ?? '';
      const known = mentions.get(name) ?? [];
      known.push(index);
      mentions.set(name, known);
    }
  }
  return mentions;
}

function readValue(tokens: readonly Token[], start: number): [SetupLiteral | null, number] {
  const first = tokens[start];
  if (first === undefined) {
    return [null, start];
  }
  if (first.literal !== null) {
    return [first.literal, start + 1];
  }
  const close = { '[': ']', '(': ')', '{': '}' }[first.text];
  if (close === undefined) {
    return [null, start];
  }
  const items: string[] = [];
  const separators: string[] = [];
  for (let index = start + 1; index < tokens.length; index += 1) {
    const { text, literal } = tokens[index] ?? { text: '', literal: null };
    if (literal !== null && items.length === separators.length) {
      items.push(literal);
    } else if ((text === ',' || text === ':') && items.length === separators.length + 1) {
      separators.push(text);
    } else {
      return [text === close ? collect(first.text, items, separators) : null, index + 1];
    }
  }
  return [null, tokens.length];
}

function collect(open: string, items: readonly string[], separators: readonly string[]): SetupLiteral | null {
  if (open !== '{') {
    return separators.includes(':') ? null : items;
  }
  const isDictionary = separators.every((separator, index) => separator === (index % 2 === 0 ? ':' : ','));
  if (!isDictionary || items.length % 2 !== 0) {
    return null;
  }
  const entries = new Map<string, string>();
  for (let index = 0; index < items.length; index += 2) {
    entries.set(items[index] ?? '', items[index + 1] ?? '');
  }
  return entries;
}
