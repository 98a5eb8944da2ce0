import type { JobSpec, Program } from '#shared/domain/job-spec.ts';
import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import { checkCpuOnlyBuild } from '#shared/package/lint/check-cpu-builds.ts';
import { checkCredentials } from '#shared/package/lint/check-credentials.ts';
import { checkDistribution } from '#shared/package/lint/check-distribution.ts';
import { checkDownloads } from '#shared/package/lint/check-downloads.ts';
import { checkGpuBuilds, checkTensorflowGpu } from '#shared/package/lint/check-gpu-builds.ts';
import { checkGpuUse } from '#shared/package/lint/check-gpu-use.ts';
import { checkImports } from '#shared/package/lint/check-imports.ts';
import { checkPaths } from '#shared/package/lint/check-paths.ts';
import { checkPins } from '#shared/package/lint/check-pins.ts';
import { checkPython2, checkPythonLimit } from '#shared/package/lint/check-python.ts';
import { checkRequirements } from '#shared/package/lint/check-requirements.ts';
import { checkTensorflow1 } from '#shared/package/lint/check-tensorflow1.ts';
import { createLintSubject, type LintInput } from '#shared/package/lint/lint-subject.ts';
import {
  CHECKS_OF_INSTALLING,
  isPackageCheck,
  type LintFinding,
  PACKAGE_CHECKS,
  problemOf,
} from '#shared/package/lint/package-checks.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const CHECKS = [
  checkCpuOnlyBuild,
  checkGpuBuilds,
  checkTensorflowGpu,
  checkPythonLimit,
  checkDistribution,
  checkCredentials,
  checkPython2,
  checkTensorflow1,
  checkRequirements,
  checkPaths,
  checkImports,
  checkDownloads,
  checkPins,
  checkGpuUse,
] as const;

/** Findings of one check; the others appear after these are fixed. */
const FINDING_COUNT_MAX = 5;

/**
 * Checks inspected packages against the machines of their job, for problems that would fail the job after VMs are
 * started or leave GPUs idle. Runs no code; of secrets, only the location is reported.
 *
 * @param input.disabledChecks codes of PACKAGE_CHECKS to skip, in addition to those that the packages themselves ignore
 */
export function lintPackages(input: LintInput & { readonly disabledChecks: ReadonlySet<string> }): {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly hints: readonly Problem[];
} {
  const ignored = input.packages.flatMap(({ evidence }) => evidence.ignoredChecks);
  const disabledChecks = new Set([...input.disabledChecks, ...ignored]);
  const subject = createLintSubject(input);
  const findings: readonly LintFinding[] = CHECKS.flatMap((check) =>
    check(subject)
      .filter(({ code }) => !disabledChecks.has(code))
      .slice(0, FINDING_COUNT_MAX),
  );
  const of = (severity: LintFinding['severity']) =>
    findings.filter((finding) => finding.severity === severity).map(problemOf);
  return {
    problems: of('ERROR'),
    warnings: [...of('WARNING'), ...input.packages.flatMap(warnOfUnknown)],
    hints: of('HINT'),
  };
}

/** The checks to skip: in containers, nothing is installed; a job with a `workdir` says itself where it runs. */
export function checksToSkip({ kind }: Pick<Program, 'kind'>, { programOptions }: Pick<JobSpec, 'programOptions'>) {
  const codes: readonly string[] = kind === 'PYTHON' ? [] : [...CHECKS_OF_INSTALLING];
  return new Set(programOptions?.workdir === undefined ? codes : [...codes, 'PATH_FROM_SCRIPT']);
}

/** A misspelled code would otherwise have no effect without notice. */
function warnOfUnknown({ evidence }: PackageReport): Problem[] {
  const unknown = evidence.ignoredChecks.filter((name) => !isPackageCheck(name)).slice(0, FINDING_COUNT_MAX);
  const known = Object.keys(PACKAGE_CHECKS);
  return unknown.map((name) => ({
    code: 'UNKNOWN_CHECK',
    message: `pyproject.toml ignores "${printablePath(name)}", which is not a package check.`,
    remedy: `${didYouMean(name, known)}The checks are ${known.join(', ')}.`,
  }));
}
