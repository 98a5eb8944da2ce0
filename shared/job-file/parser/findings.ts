import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** Where something is said: a field of the job file with its line, or the flag that beat it (`--region`). */
export type Place = { readonly path: string; readonly line?: number };

/** A value and where it is said. */
export type Located<T> = Place & { readonly value: T };

/**
 * What has been found so far: what must be mended, what works but was hardly meant, and what is right but cannot be run
 * by this version of Dropforge.
 */
export type Findings = {
  readonly problems: Problem[];
  readonly warnings: Problem[];
  readonly unsupported: Problem[];
};

/** What is to be said about a place. */
export type Words = { readonly code: string; readonly message: string; readonly remedy: string };

export function createFindings(): Findings {
  return { problems: [], warnings: [], unsupported: [] };
}

/** Records that a value is wrong; where it holds a placeholder that nobody has filled in, it says that instead. */
export function refuse(located: Located<unknown>, words: Words, findings: Findings): void {
  const placeholder = typeof located.value === 'string' ? findPlaceholder(located.value, located.path) : undefined;
  findings.problems.push({
    ...(placeholder === undefined ? words : describePlaceholder(located.path, placeholder)),
    ...placeOf(located),
  });
}

function describePlaceholder(path: string, placeholder: string): Words {
  return {
    code: PLACEHOLDER_CODE,
    message: `${path} still holds the placeholder ${placeholder}.`,
    remedy: 'Put the value in its place.',
  };
}

/** More than these help nobody, and a file of nothing but mistakes would make a report larger than itself. */
export const FINDINGS_COUNT_MAX = 100;

/** The code of values that a template's user was to fill in; like what is missing, it can still come from elsewhere. */
export const PLACEHOLDER_CODE = 'PLACEHOLDER';

export function placeOf({ path, line }: Place): Place {
  return line === undefined ? { path } : { path, line };
}

/** A finding quotes the file; of a value without an end its beginning is enough, wherever it comes from. */
const TEXT_CHARACTERS_MAX = 1_000;

/** Fit to be shown: what a terminal could act on is escaped, and what is endless is cut. */
function shown(text: string): string {
  const head = text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX)}…` : text;
  return head.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, (character) =>
    character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function showProblem(problem: Problem): Problem {
  const { message, remedy, path } = problem;
  return {
    ...problem,
    message: shown(message),
    remedy: shown(remedy),
    ...(path !== undefined && { path: shown(path) }),
  };
}

/** Findings in the file's order, each once; those that belong to no line come last. */
export function inFileOrder(found: readonly Problem[]): readonly Problem[] {
  const unique = new Map(found.map((problem) => [JSON.stringify(problem), problem])).values();
  const sorted = [...unique].sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER));
  if (sorted.length <= FINDINGS_COUNT_MAX) {
    return sorted.map(showProblem);
  }
  const rest = {
    code: 'TOO_MANY_FINDINGS',
    message: `More than ${FINDINGS_COUNT_MAX} were found; the others are not listed.`,
    remedy: 'Mend those above and check the file again.',
  };
  return [...sorted.slice(0, FINDINGS_COUNT_MAX).map(showProblem), rest];
}
