import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { isBelow } from '#shared/package/metadata/version-specifier.ts';
import { FIRST_VERSIONS } from '#shared/python/python-packages.ts';

/**
 * PYTHON_LIMIT: warning if a requirement excludes every version of its distribution that has a wheel for the Python
 * version of the machine image, for the distributions that old projects pin (FIRST_VERSIONS). pip then compiles an old
 * version, which fails or takes very long, or finds none.
 */
export function checkPins({ requirements, pythonVersion }: LintSubject): LintFinding[] {
  const minor = (pythonVersion ?? '').split('.').slice(0, 2).join('.');
  const found = requirements.flatMap((requirement): LintFinding[] => {
    const { name, specifier, url, shown, path } = requirement;
    const first = Object.hasOwn(FIRST_VERSIONS, name) ? FIRST_VERSIONS[name]?.[minor] : undefined;
    if (first === undefined || url !== '' || !isBelow(specifier, first.split('.').map(Number))) {
      return [];
    }
    const hasNone = first === NO_VERSION;
    const least = hasNone ? 'and no other version has one' : `and ${first} is the first version with one`;
    return [
      {
        code: 'PYTHON_LIMIT',
        severity: 'WARNING',
        message: `The requirement "${shown}" has no wheel for Python ${minor}, the version of the machine image, ${least}: pip fails, or compiles it.`,
        remedy: hasNone
          ? `Remove ${name} from the requirements, or choose a runtime version with an older Python.`
          : `Require ${name}>=${first}, or choose a runtime version with an older Python.`,
        path,
      },
    ];
  });
  return [...new Map(found.map((finding) => [finding.message, finding])).values()];
}

const NO_VERSION = '99';
