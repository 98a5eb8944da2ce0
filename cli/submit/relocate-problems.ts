import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Problem, Report } from '#shared/protocol/report.ts';

/**
 * The report with the lines of the user's own job file. What was submitted is printed from it and the flags, so that
 * the lines that the cloud reports are of a file that the user has not written. No line if the file lacks the field.
 */
export function relocateProblems<R extends Pick<Report, 'problems' | 'warnings'>>(report: R, draft: JobDraft): R {
  const lines = new Map<string, number>();
  collectLines(draft, lines);
  const relocate = ({ line: _, ...problem }: Problem): Problem => {
    const line = problem.path === undefined ? undefined : lines.get(problem.path);
    return { ...problem, ...(line !== undefined && { line }) };
  };
  return { ...report, problems: report.problems.map(relocate), warnings: report.warnings.map(relocate) };
}

/** Drafts contain each field with the path and line where it was read. */
function collectLines(part: unknown, lines: Map<string, number>): void {
  if (typeof part !== 'object' || part === null) {
    return;
  }
  if ('path' in part && typeof part.path === 'string' && 'line' in part && typeof part.line === 'number') {
    lines.set(part.path, part.line);
  }
  for (const value of Object.values(part)) {
    collectLines(value, lines);
  }
}
