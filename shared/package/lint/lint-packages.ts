import { showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import { checkCpuOnlyBuild } from '#shared/package/lint/check-cpu-builds.ts';
import { checkCredentials } from '#shared/package/lint/check-credentials.ts';
import { checkDistribution } from '#shared/package/lint/check-distribution.ts';
import { checkGpuBuilds, checkTensorflowGpu } from '#shared/package/lint/check-gpu-builds.ts';
import { checkPython2, checkPythonLimit } from '#shared/package/lint/check-python.ts';
import { checkRequirements } from '#shared/package/lint/check-requirements.ts';
import { type AdviceGiven, describeSubject } from '#shared/package/lint/lint-subject.ts';
import { type Advice, isPackageCheck, PACKAGE_CHECKS, problemOf } from '#shared/package/lint/package-checks.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const CHECKS = [
  checkCpuOnlyBuild,
  checkGpuBuilds,
  checkTensorflowGpu,
  checkPythonLimit,
  checkDistribution,
  checkCredentials,
  checkPython2,
  checkRequirements,
] as const;

/** Of one check; who mends so many will validate again. */
const ADVICE_COUNT_MAX = 5;

/**
 * Judges packages that were inspected beside the machines of their job: what would fail after the VMs were paid for, or
 * leave a GPU idle. Nothing is run, and nothing of a secret is told but where it is.
 *
 * @param given.silenced codes of PACKAGE_CHECKS to be passed over, besides those that the packages themselves ignore
 */
export function lintPackages(given: AdviceGiven & { readonly silenced: ReadonlySet<string> }): {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
} {
  const ignored = given.packages.flatMap(({ evidence }) => evidence.ignoredChecks);
  const silenced = new Set([...given.silenced, ...ignored]);
  const subject = describeSubject(given);
  const advice: readonly Advice[] = CHECKS.flatMap((check) =>
    check(subject)
      .filter(({ code }) => !silenced.has(code))
      .slice(0, ADVICE_COUNT_MAX),
  );
  const of = (severity: Advice['severity']) => advice.filter((one) => one.severity === severity).map(problemOf);
  return { problems: of('ERROR'), warnings: [...of('WARNING'), ...given.packages.flatMap(warnOfUnknown)] };
}

/** A slip in a name would leave the check on without a word. */
function warnOfUnknown({ evidence }: PackageReport): Problem[] {
  const unknown = evidence.ignoredChecks.filter((name) => !isPackageCheck(name)).slice(0, ADVICE_COUNT_MAX);
  const known = Object.keys(PACKAGE_CHECKS);
  return unknown.map((name) => ({
    code: 'UNKNOWN_CHECK',
    message: `pyproject.toml ignores "${showPath(name)}", which is no check of packages.`,
    remedy: `${didYouMean(name, known)}The checks are ${known.join(', ')}.`,
  }));
}
