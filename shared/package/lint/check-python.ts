import { showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import { satisfies } from '#shared/package/lint/version-specifier.ts';

/** More patch releases than any Python had. */
const PATCH_COUNT_MAX = 60;

/**
 * PYTHON_LIMIT. Where the image's Python is known:
 * - an error if no patch release of it satisfies `python_requires` (Core metadata, "Requires-Python": pip refuses), or if
 *   no tag of a wheel fits it (PyPA, "Platform compatibility tags");
 * - a warning if only its release .0 does, as with `<=3.10`: 3.10.1 is greater than 3.10.
 * A specifier that cannot be read is passed over.
 */
export function checkPythonLimit({ packages, pythonVersion }: AdviceSubject): Advice[] {
  const [major, minor, patch] = (pythonVersion ?? '').split('.').map(Number);
  if (major === undefined || minor === undefined || !Number.isInteger(major) || !Number.isInteger(minor)) {
    return [];
  }
  const patches = patch === undefined ? Array.from({ length: PATCH_COUNT_MAX }, (_, index) => index) : [patch];
  return packages.flatMap((report) => {
    const limit = report.requiresPython ?? '';
    const fitting = patches.filter((one) => satisfies([major, minor, one], limit) !== false);
    const isOnlyFirst = patch === undefined && fitting.length === 1 && fitting[0] === 0;
    if (fitting.length === 0 || isOnlyFirst) {
      const version = isOnlyFirst ? `only the release ${major}.${minor}.0 is` : `Python ${major}.${minor} is not`;
      return [limitOf(report, `asks for Python ${showPath(limit)}: ${version}`, fitting.length === 0)];
    }
    const { wheelTags } = report;
    const fits = wheelTags.length === 0 || wheelTags.some((tag) => fitsTag(tag, major, minor));
    const tags = `is a wheel for ${showPath(wheelTags.slice(0, 3).join(', '))}: Python ${major}.${minor} is not`;
    return fits ? [] : [limitOf(report, tags, true)];
  });
}

function limitOf({ name }: PackageReport, what: string, isSure: boolean): Advice {
  return {
    code: 'PYTHON_LIMIT',
    severity: isSure ? 'ERROR' : 'WARNING',
    message: `${name === null ? 'The package' : showPath(name)} ${what} among them, and the machine image has it.`,
    remedy: 'Choose a runtime version with a Python that fits, or build the package for the Python of the image.',
  };
}

/** Whether CPython takes a wheel of this tag, `cp38-abi3-linux_x86_64`; each part may be several joined by dots. */
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
 * PYTHON_2_ONLY. Where a statement parses in Python 2 and in no Python 3 (`print "x"`):
 * - an error in a setup.py that pip runs: the installation ends with a SyntaxError;
 * - a warning in the module to run, and in a setup.py beside a pyproject.toml, which may build without it.
 * Other files are passed over: the program may never import them.
 */
export function checkPython2({ packages, program }: AdviceSubject): Advice[] {
  return packages.flatMap(({ evidence, wheelTags }) =>
    evidence.python2.flatMap(({ path, line, module }) => {
      const isSetup = wheelTags.length === 0 && /^(?:[^/]+\/)?setup\.py$/.test(path);
      if (!isSetup && module !== program.module) {
        return [];
      }
      const severity = isSetup && evidence.isBuiltBySetupScript ? ('ERROR' as const) : ('WARNING' as const);
      return [
        {
          code: 'PYTHON_2_ONLY' as const,
          severity,
          message: `${path}, line ${line}, is a statement of Python 2, which Python 3 cannot parse.`,
          remedy: 'Write it for Python 3: `python -m lib2to3` up to Python 3.12, or print(…) with parentheses.',
          path,
          line,
        },
      ];
    }),
  );
}
