import { createFindings, type Findings, type Located, refuse, type Words } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** Records something, unless the same was found in the same place: pools share what is said once for all of them. */
export function addOnce(found: Problem[], { code, path, line, ...words }: Problem): void {
  if (!found.some((other) => other.code === code && other.path === path && other.line === line)) {
    found.push({ code, ...words, ...(path !== undefined && { path }), ...(line !== undefined && { line }) });
  }
}

/** Refuses a value as `refuse` does, but once, however many pools have it. */
export function refuseOnce(located: Located<unknown>, words: Words, findings: Findings): void {
  const refused = createFindings();
  refuse(located, words, refused);
  for (const problem of refused.problems) {
    addOnce(findings.problems, problem);
  }
}
