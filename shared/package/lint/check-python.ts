import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { satisfies } from '#shared/package/metadata/version-specifier.ts';

/** More than the patch releases of any Python version. */
const PATCH_COUNT_MAX = 60;

/**
 * PYTHON_LIMIT, if the Python version of the machine image is known.
 * - Error if none of its patch releases satisfies `python_requires`, because pip then fails (Core metadata,
 *   "Requires-Python"), or if no tag of a wheel matches (PyPA, "Platform compatibility tags").
 * - Warning if only patch release 0 satisfies it, as with `<=3.10`: 3.10.1 is greater than 3.10.
 * Specifiers that cannot be parsed are ignored.
 */
export function checkPythonLimit({ packages, program, pythonVersion }: LintSubject): LintFinding[] {
  const [major, minor, patch] = (pythonVersion ?? '').split('.').map(Number);
  if (major === undefined || minor === undefined || !Number.isInteger(major) || !Number.isInteger(minor)) {
    return [];
  }
  const patches = patch === undefined ? Array.from({ length: PATCH_COUNT_MAX }, (_, index) => index) : [patch];
  return packages.flatMap((report) => {
    const limit = [report.requiresPython, report.programOf(program.module).requiresPython]
      .filter((one) => one !== null)
      .join(',');
    const fitting = patches.filter((one) => satisfies([major, minor, one], limit) !== false);
    const matchesOnlyZero = patch === undefined && fitting.length === 1 && fitting[0] === 0;
    if (fitting.length === 0 || matchesOnlyZero) {
      const version = matchesOnlyZero
        ? `only ${major}.${minor}.0 of Python ${major}.${minor} matches`
        : `Python ${major}.${minor} does not match`;
      return [limitOf(report, `requires Python ${printablePath(limit)}: ${version}`, fitting.length === 0)];
    }
    const { wheelTags, evidence } = report;
    const asked = evidence.pythonLimit ?? '';
    if (patches.every((one) => satisfies([major, minor, one], asked) === false)) {
      return [
        limitOf(report, `asks conda for Python ${printablePath(asked)}: the job runs on ${major}.${minor}`, false),
      ];
    }
    const fits = wheelTags.length === 0 || wheelTags.some((tag) => fitsTag(tag, major, minor));
    const tags = `is a wheel for ${printablePath(wheelTags.slice(0, 3).join(', '))}: Python ${major}.${minor} does not match`;
    return fits ? [] : [limitOf(report, tags, true)];
  });
}

function limitOf({ name }: PackageReport, what: string, isCertain: boolean): LintFinding {
  return {
    code: 'PYTHON_LIMIT',
    severity: isCertain ? 'ERROR' : 'WARNING',
    message: `${name === null ? 'The package' : printablePath(name)} ${what}, which is the version of the machine image.`,
    remedy:
      'Choose a runtime version with a matching Python version, or build the package for the Python version of the image.',
  };
}

/** Whether CPython supports a wheel tag, `cp38-abi3-linux_x86_64`; each part may be several joined by dots. */
function fitsTag(tag: string, major: number, minor: number): boolean {
  const [pythons = '', abis = ''] = tag.toLowerCase().split('-');
  return pythons.split('.').some((python) => {
    const [, implementation, tagMajor, tagMinor] = /^(py|cp)(\d)(\d*)$/.exec(python) ?? [];
    if (implementation === undefined || Number(tagMajor) !== major) {
      return false;
    }
    const isOlder = tagMinor === '' || Number(tagMinor) <= minor;
    const isAnyAbi = implementation === 'py' || abis.split('.').includes('abi3') || tagMinor === '';
    return isAnyAbi ? isOlder : Number(tagMinor) === minor;
  });
}

/**
 * PYTHON_2_ONLY: a statement that only Python 2 can parse (`print "x"`).
 * - Error in a setup.py that pip runs: the installation fails with a SyntaxError.
 * - Warning in the module to run, and in a setup.py next to a pyproject.toml, which may not need it.
 * Other files are ignored: the program may never import them.
 */
export function checkPython2({ packages, program }: LintSubject): LintFinding[] {
  return packages.flatMap(({ evidence, wheelTags, programPathOf }) =>
    evidence.python2.flatMap(({ path, line }) => {
      const isSetup = wheelTags.length === 0 && /^(?:[^/]+\/)?setup\.py$/.test(path);
      if (!isSetup && path !== programPathOf(program.module)) {
        return [];
      }
      const severity = isSetup && evidence.isBuiltBySetupScript ? ('ERROR' as const) : ('WARNING' as const);
      return [
        {
          code: 'PYTHON_2_ONLY' as const,
          severity,
          message: `${path}, line ${line}, is a Python 2 statement that Python 3 cannot parse.`,
          remedy: 'Convert it to Python 3, for example with `python -m lib2to3` of Python 3.12 or older.',
          path,
          line,
        },
      ];
    }),
  );
}
