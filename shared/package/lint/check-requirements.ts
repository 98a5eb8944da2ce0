import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import { showRequirement } from '#shared/package/lint/requirement.ts';

/** What is wrong with a requirement in metadata, the first that matches, and what to write. */
const FAULTS: readonly { readonly pattern: RegExp; readonly fault: string; readonly remedy: string }[] = [
  {
    pattern: /^-/,
    fault: 'is an option of pip, which only a requirements file may hold',
    remedy: 'Take the line out of what setup.py or pyproject.toml lists.',
  },
  {
    pattern: /^(?:git\+|https?:\/\/|file:)/,
    fault: 'is an address without the name of a package',
    remedy: 'Write `name @ address`.',
  },
  {
    pattern: /^(?:\.{1,2})?\//,
    fault: 'is a path, which pip takes on its command line only',
    remedy: 'Upload that package, too, and name it in packageUris.',
  },
  {
    pattern: /^[A-Za-z0-9][\w.-]*[ \t]*(?:\[[^\]]*\])?[ \t]*=(?!=)/,
    fault: 'has one = where a version takes two',
    remedy: 'Write ==.',
  },
  {
    pattern: /^[A-Za-z0-9][\w.-]*[ \t]+v?\d/,
    fault: 'has no operator before the version',
    remedy: 'Write == between the name and the version.',
  },
  {
    pattern: /^python[ \t]*(?:$|[<>=!~;(])/i,
    fault: 'is no package: the index has none of that name',
    remedy: 'Write it as python_requires, or requires-python in pyproject.toml.',
  },
  {
    pattern: /^sklearn[ \t]*(?:$|[;>])/i,
    fault: 'is a stub whose installation ends with an error',
    remedy: 'Write scikit-learn.',
  },
  {
    pattern: /^skimage[ \t]*(?:$|[;>=(])/i,
    fault: 'is a stub whose installation ends with an error',
    remedy: 'Write scikit-image.',
  },
];

const REQUIREMENT_CHARACTERS_MAX = 500;

/**
 * BROKEN_REQUIREMENT. A warning where pip certainly refuses a requirement of the metadata (PyPA, "Dependency
 * specifiers"): an option, a path or a bare address in place of a name, `numpy=1.2`, `numpy 1.2`, `python>=3.5`, and the
 * stubs `sklearn` (an error since December 2023) and `skimage`. A misspelt name is not known for one.
 */
export function checkRequirements({ packages }: AdviceSubject): Advice[] {
  return packages
    .flatMap(({ requirements }) => requirements)
    .flatMap((requirement): Advice[] => {
      const text = requirement
        .slice(0, REQUIREMENT_CHARACTERS_MAX)
        .replace(/(?:^|\s)#.*/, '')
        .trim();
      const found = FAULTS.find(({ pattern }) => pattern.test(text));
      return found === undefined
        ? []
        : [
            {
              code: 'BROKEN_REQUIREMENT',
              severity: 'WARNING',
              message: `The requirement "${showRequirement(text)}" ${found.fault}.`,
              remedy: found.remedy,
            },
          ];
    });
}
