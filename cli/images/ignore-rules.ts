import { Failure } from '#cli/core/failure.ts';

/** The rules of a .dockerignore file (docs.docker.com, "Build context", ".dockerignore files"). */
export type IgnoreRules = {
  /** Whether the last rule that matches the path, or one of its parents, excludes it. */
  readonly isIgnored: (path: string) => boolean;
  /** Whether a path in an excluded folder can be included again (`!path`), so that the folder must be searched. */
  readonly hasExceptions: boolean;
};

type Rule = { readonly pattern: RegExp; readonly isException: boolean };

const RULES_MAX = 1_000;
const RULE_CHARACTERS_MAX = 1_000;

/** Parses lines of patterns, relative to the folder. Throws Failure for one that is not valid, and for too many. */
export function parseIgnoreRules(lines: readonly string[], file: string): IgnoreRules {
  const rules = lines.flatMap((line) => parseRule(line, file));
  if (rules.length > RULES_MAX) {
    throw new Failure(`${file} has ${rules.length} patterns; the limit is ${RULES_MAX}. Exclude whole folders.`);
  }
  return {
    hasExceptions: rules.some(({ isException }) => isException),
    isIgnored(path) {
      const candidates = withParents(path);
      const last = rules.findLast(({ pattern }) => candidates.some((candidate) => pattern.test(candidate)));
      return last !== undefined && !last.isException;
    },
  };
}

function parseRule(line: string, file: string): readonly Rule[] {
  const text = line.startsWith('#') ? '' : line.trim();
  const isException = text.startsWith('!');
  const path = cleanPath(isException ? text.slice(1).trim() : text);
  if (path === '') {
    return [];
  }
  const source = path.length > RULE_CHARACTERS_MAX ? null : toRegExpSource(path);
  if (source === null) {
    throw new Failure(`${file}: ${line.slice(0, 200)} is not a valid pattern. Correct the line.`);
  }
  return [{ pattern: new RegExp(`^${source}$`, 'us'), isException }];
}

/** Without empty and `.` parts, and with `..` resolved inside the folder. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') {
      parts.pop();
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

const TOKEN = /\*\*\/?|\*|\?|\\(.)|(\[\^?(?:\\.|[^\]\\])+\])|[\s\S]/gu;

/** `**` crosses folders, `*` and `?` do not; null for an unclosed class or a final backslash. */
function toRegExpSource(path: string): string | null {
  let source = '';
  for (const [token, escaped, characters] of path.matchAll(TOKEN)) {
    if (escaped !== undefined) {
      source += RegExp.escape(escaped);
    } else if (characters !== undefined) {
      source += toClass(characters);
    } else if (token === '[' || token === '\\') {
      return null;
    } else {
      source += WILDCARDS[token] ?? RegExp.escape(token);
    }
  }
  return source;
}

const WILDCARDS: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** The same class as a regular expression, in which only `-` and the first `^` have a meaning. */
function toClass(characters: string): string {
  const [, negation = '', body = ''] = /^\[(\^?)(.*)\]$/su.exec(characters) ?? [];
  const escaped = body.replaceAll(/\\(.)|([^\\-])/gsu, (_, quoted, plain) => RegExp.escape(quoted ?? plain));
  return `[${negation}${escaped}]`;
}

function withParents(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
