import type { Findings } from '#shared/job-file/parser/findings.ts';

/** Whether a problem is known already of a field or of what is in it, so that it need not be called missing as well. */
export function isTold(path: string, { problems }: Findings): boolean {
  return problems.some(
    ({ path: other = '' }) => other.startsWith(path) && ['', '.', '['].includes(other.charAt(path.length)),
  );
}
