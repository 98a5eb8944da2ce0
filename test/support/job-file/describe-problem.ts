import type { Problem } from '#shared/protocol/problem.ts';

/** Code and field of a finding. */
export function describeProblem({ code, path }: Problem): string {
  return `${code} ${path ?? ''}`;
}
