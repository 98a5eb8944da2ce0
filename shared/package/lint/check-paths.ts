import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';

/**
 * PATH_FROM_SCRIPT: warning if the program's file names files or folders of its package by paths that are right from
 * its own folder, and the program starts in the root of the package. Programs in subfolders are often run from there.
 */
export function checkPaths({ packages, program }: LintSubject): LintFinding[] {
  return packages.flatMap(({ programPathOf, misplacedPathOf }) => {
    const path = programPathOf(program.module);
    const found = misplacedPathOf(program.module);
    if (path === null || found === null) {
      return [];
    }
    return [
      {
        code: 'PATH_FROM_SCRIPT' as const,
        severity: 'WARNING' as const,
        message: `${path}, line ${found.line}, names "${printablePath(found.text)}", which exists from the folder of this file only; the program starts in the root of the package.`,
        remedy: `Add "workdir: ${printablePath(found.workdir)}" to the job file (Dropforge's format has it), or begin the path with os.path.dirname(__file__).`,
        path,
        line: found.line,
      },
    ];
  });
}
