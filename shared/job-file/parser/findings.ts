import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Where a value comes from: a field of the job file with its line, or a command-line flag (`--region`). */
export type SourceLocation = { readonly path: string; readonly line?: number };

/** A value with its location. */
export type Located<T> = SourceLocation & { readonly value: T };

/**
 * Everything found in a job file. Problems must be fixed. Warnings do not prevent the job from running, but are
 * probably not what the user intended. Unsupported: valid, but this version of Dropforge cannot run it.
 */
export type Found = {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly unsupported: readonly Problem[];
};

/** Everything found so far. */
export type Findings = {
  readonly problems: Problem[];
  readonly warnings: Problem[];
  readonly unsupported: Problem[];
  /** Names of the format that is being read, from which unknown fields are corrected. */
  readonly names?: FormatNames;
};

export type FormatNames = {
  /**
   * The mapping that a field belongs to, for known names found in the wrong mapping; undefined if unknown or ambiguous.
   */
  readonly parentOf: (name: string) => string | undefined;
  /** Names of other formats and tools that stand for several fields of the mapping, with what to write instead. */
  readonly synonyms?: Readonly<Record<string, string>>;
};

/** A finding without its location. */
export type FindingText = { readonly code: string; readonly message: string; readonly remedy: string };

const NOTHING_FOUND: Found = { problems: [], warnings: [], unsupported: [] };

/** Findings to add to, with those that there are already. */
export function createFindings({ problems, warnings, unsupported } = NOTHING_FOUND): Findings {
  return { problems: [...problems], warnings: [...warnings], unsupported: [...unsupported] };
}

/** The findings in the order of the file. */
export function reportOf({ problems, warnings, unsupported }: Findings): Found {
  return {
    problems: inFileOrder(problems),
    warnings: inFileOrder(warnings),
    unsupported: inFileOrder(unsupported),
  };
}

/** Reports an invalid value. If the value contains a placeholder that was not replaced, reports that instead. */
export function reportInvalid(located: Located<unknown>, text: FindingText, findings: Findings): void {
  const placeholder = typeof located.value === 'string' ? findPlaceholder(located.value, located.path) : undefined;
  findings.problems.push({
    ...(placeholder === undefined ? text : describePlaceholder(located.path, placeholder)),
    ...locationOf(located),
  });
}

export function describePlaceholder(path: string, placeholder: string): FindingText {
  return {
    code: PLACEHOLDER_CODE,
    message: `${path} still contains the placeholder ${placeholder}.`,
    remedy: 'Replace it with a value.',
  };
}

/** Bounds the report: a file that is nothing but mistakes would otherwise make it larger than the file. */
export const FINDINGS_COUNT_MAX = 100;

/** The code of unreplaced template placeholders; like a missing value, the value can still come from a flag. */
export const PLACEHOLDER_CODE = 'PLACEHOLDER';

export function locationOf({ path, line }: SourceLocation): SourceLocation {
  return line === undefined ? { path } : { path, line };
}

/** The location of the list that contains an item, or of the value itself. */
export function locationOfList(item: SourceLocation): SourceLocation {
  return { ...locationOf(item), path: item.path.replace(/\[\d+\]$/, '') };
}

/** Findings quote the file; longer texts are truncated, whichever check produced them. */
const TEXT_CHARACTERS_MAX = 1_000;

/** Makes text safe for terminals: truncates it and escapes control and bidirectional characters. */
function sanitize(text: string): string {
  const head = text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX)}…` : text;
  return head.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, (character) =>
    character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function sanitizeProblem(problem: Problem): Problem {
  const { message, remedy, path } = problem;
  return {
    ...problem,
    message: sanitize(message),
    remedy: sanitize(remedy),
    ...(path !== undefined && { path: sanitize(path) }),
  };
}

/** Without duplicates: programs share packages and images, whose findings are the same. */
export function unique(found: readonly Problem[]): readonly Problem[] {
  return [...new Map(found.map((problem) => [JSON.stringify(problem), problem])).values()];
}

/** Sorts findings by line and removes duplicates; findings without a line come last. */
export function inFileOrder(found: readonly Problem[]): readonly Problem[] {
  const lineOf = ({ line }: Problem) => line ?? Number.MAX_SAFE_INTEGER;
  const sorted = unique(found).toSorted((a, b) => lineOf(a) - lineOf(b));
  if (sorted.length <= FINDINGS_COUNT_MAX) {
    return sorted.map(sanitizeProblem);
  }
  const rest = {
    code: 'TOO_MANY_FINDINGS',
    message: `More than ${FINDINGS_COUNT_MAX} findings; the rest are not listed.`,
    remedy: 'Fix those above and validate the file again.',
  };
  return [...sorted.slice(0, FINDINGS_COUNT_MAX).map(sanitizeProblem), rest];
}
