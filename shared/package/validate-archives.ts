import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { Problem } from '#shared/protocol/problem.ts';

export type NamedReport = { readonly name: string; readonly report: PackageReport };

/**
 * Findings about the packages of a program. If one of them contains the module, it is not reported as missing in the
 * others. `isNamed`: whether messages name the package.
 */
export function validateArchives(
  packages: readonly NamedReport[],
  module: string | null,
  isNamed: boolean,
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const validated = packages.map(({ name, report }) => {
    const ofModule = module === null ? { problems: [], warnings: [] } : report.validateModule(module);
    return { name, report, ofModule };
  });
  const hasModule = validated.some(({ report, ofModule }) => report.problems.length + ofModule.problems.length === 0);
  const withName = (name: string, problem: Problem): Problem =>
    isNamed ? { ...problem, message: `${name}: ${problem.message}` } : problem;
  return {
    problems: validated.flatMap(({ name, report, ofModule }) =>
      [...report.problems, ...(hasModule ? [] : ofModule.problems)].map((problem) => withName(name, problem)),
    ),
    warnings: validated.flatMap(({ name, report, ofModule }) =>
      [...report.warnings, ...ofModule.warnings].map((warning) => withName(name, warning)),
    ),
  };
}
