import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { printableRequirement } from '#shared/package/lint/requirement.ts';

/** Invalid requirements in metadata; the first match is reported. */
const INVALID: readonly { readonly pattern: RegExp; readonly problem: string; readonly remedy: string }[] = [
  {
    pattern: /^-/,
    problem: 'is a pip option, which is valid only in a requirements file',
    remedy: 'Remove the line from the requirements of setup.py or pyproject.toml.',
  },
  {
    pattern: /^(?:git\+|https?:\/\/|file:)/,
    problem: 'is a URL without a package name',
    remedy: 'Write `name @ url`.',
  },
  {
    pattern: /^(?:\.{1,2})?\//,
    problem: 'is a path, which is valid only on the command line of pip',
    remedy: 'Upload that package as well, and add it to packageUris.',
  },
  {
    pattern: /^[A-Za-z0-9][\w.-]*[ \t]*(?:\[[^\]]*\])?[ \t]*=(?!=)/,
    problem: 'has one = before the version instead of two',
    remedy: 'Write ==.',
  },
  {
    pattern: /^[A-Za-z0-9][\w.-]*[ \t]+v?\d/,
    problem: 'has no operator before the version',
    remedy: 'Write == between the name and the version.',
  },
  {
    pattern: /^python[ \t]*(?:$|[<>=!~;(])/i,
    problem: 'is not a package in the index',
    remedy: 'Write it as python_requires, or requires-python in pyproject.toml.',
  },
  {
    pattern: /^sklearn[ \t]*(?:$|[;>])/i,
    problem: 'is a stub whose installation fails',
    remedy: 'Write scikit-learn.',
  },
  {
    pattern: /^skimage[ \t]*(?:$|[;>=(])/i,
    problem: 'is a stub whose installation fails',
    remedy: 'Write scikit-image.',
  },
];

const REQUIREMENT_CHARACTERS_MAX = 500;

/**
 * BROKEN_REQUIREMENT: warning for a requirement of the metadata that pip always rejects (PyPA, "Dependency
 * specifiers"): an option, path or URL instead of a name, `numpy=1.2`, `numpy 1.2`, `python>=3.5`, and the stubs
 * `sklearn` (fails since December 2023) and `skimage`. Misspelled names are not detected.
 */
export function checkRequirements({ packages }: LintSubject): LintFinding[] {
  return packages
    .flatMap(({ requirements }) => requirements)
    .flatMap((requirement): LintFinding[] => {
      const text = requirement
        .slice(0, REQUIREMENT_CHARACTERS_MAX)
        .replace(/(?:^|\s)#.*/, '')
        .trim();
      const found = INVALID.find(({ pattern }) => pattern.test(text));
      return found === undefined
        ? []
        : [
            {
              code: 'BROKEN_REQUIREMENT',
              severity: 'WARNING',
              message: `The requirement "${printableRequirement(text)}" ${found.problem}.`,
              remedy: found.remedy,
            },
          ];
    });
}
