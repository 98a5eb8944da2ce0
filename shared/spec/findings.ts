import type { Problem } from '#shared/protocol/report.ts';

/** Where something is said: a field of the job file with its line, or the flag that beat it (`--region`). */
export type Place = { readonly path: string; readonly line?: number };

/** A value and where it is said. */
export type Located<T> = Place & { readonly value: T };

/** What has been found so far: what must be mended, and what works but was hardly meant. */
export type Findings = { readonly problems: Problem[]; readonly warnings: Problem[] };

/** More than these help nobody, and a file of nothing but mistakes would make a report larger than itself. */
export const FINDINGS_COUNT_MAX = 100;

export function placeOf({ path, line }: Place): Place {
  return line === undefined ? { path } : { path, line };
}

/** Findings in the file's order; those that belong to no line come last. */
export function inFileOrder(found: readonly Problem[]): readonly Problem[] {
  const sorted = [...found].sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER));
  if (sorted.length <= FINDINGS_COUNT_MAX) {
    return sorted;
  }
  const rest = {
    code: 'TOO_MANY_FINDINGS',
    message: `More than ${FINDINGS_COUNT_MAX} were found; the others are not listed.`,
    remedy: 'Mend those above and check the file again.',
  };
  return [...sorted.slice(0, FINDINGS_COUNT_MAX), rest];
}
