import {
  createFindings,
  describePlaceholder,
  type Findings,
  type FindingText,
  type Located,
  locationOf,
  reportInvalid,
} from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Adds a finding unless one with the same code and location exists: pools share values that the file states once. */
export function addOnce(found: Problem[], { code, path, line, ...text }: Problem): void {
  if (!found.some((other) => other.code === code && other.path === path && other.line === line)) {
    found.push({ code, ...text, ...(path !== undefined && { path }), ...(line !== undefined && { line }) });
  }
}

/** Rejects a value once, even if several pools share it. */
export function rejectOnce(located: Located<unknown>, text: FindingText, findings: Findings): void {
  const rejected = createFindings();
  reportInvalid(located, text, rejected);
  for (const problem of rejected.problems) {
    addOnce(findings.problems, problem);
  }
}

/** `BUCKET`, `PROJECT_ID`, `YOUR-BUCKET`: a word in capitals, delimited by characters that are not part of a name. */
const CAPITALS_PATTERN = /(?<![A-Za-z0-9_-])[A-Z][A-Z0-9]+([_-][A-Z0-9]+)*(?![A-Za-z0-9_-])/;

/**
 * Rejects a malformed name of a bucket, image or account. `lowercasePart` is the part of the value that is all
 * lowercase if valid: a word in capitals there is reported as a placeholder from a copied example.
 */
export function rejectMalformed(
  located: Located<string>,
  { lowercasePart, ...text }: FindingText & { readonly lowercasePart: string },
  findings: Findings,
): void {
  const isMarked = findPlaceholder(located.value, located.path) !== undefined;
  const placeholder = isMarked ? undefined : CAPITALS_PATTERN.exec(lowercasePart)?.[0];
  if (placeholder === undefined) {
    reportInvalid(located, text, findings);
    return;
  }
  findings.problems.push({ ...describePlaceholder(located.path, placeholder), ...locationOf(located) });
}

/** Whether a field, or anything inside it, has a problem already; it is then not reported as missing as well. */
export function hasProblemAt(path: string, { problems }: Findings): boolean {
  return problems.some(
    ({ path: other = '' }) => other.startsWith(path) && ['', '.', '['].includes(other.charAt(path.length)),
  );
}

/** Reports a field that is absent. */
export function rejectMissing(path: string, remedy: string, findings: Findings): null {
  findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
  return null;
}

/** Messages quote at most this much of a value. */
const QUOTED_CHARACTERS_MAX = 120;

/** A value from the file in double quotes, truncated to 120 characters. */
export function quote(text: string): string {
  return text.length <= QUOTED_CHARACTERS_MAX ? `"${text}"` : `"${text.slice(0, QUOTED_CHARACTERS_MAX)}…"`;
}
