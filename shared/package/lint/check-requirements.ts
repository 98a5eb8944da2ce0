import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { REQUIREMENT_COUNT_MAX, withoutComment } from '#shared/package/lint/requirement.ts';
import { printableRequirement } from '#shared/package/metadata/core-metadata.ts';

type InvalidRequirement = {
  readonly pattern: RegExp;
  readonly problem: string;
  readonly remedy: string;
  /** Whether pip accepts it in a requirements file. */
  readonly isValidInFile?: true;
};

/** Invalid requirements in metadata; the first match is reported. */
const INVALID: readonly InvalidRequirement[] = [
  {
    pattern: /^-/,
    problem: 'is a pip option, which is valid only in a requirements file',
    remedy: 'Remove the line from the requirements of setup.py or pyproject.toml.',
    isValidInFile: true,
  },
  {
    pattern: /^(?:git\+|https?:\/\/|file:)/,
    problem: 'is a URL without a package name',
    remedy: 'Write `name @ url`.',
    isValidInFile: true,
  },
  {
    pattern: /^(?:\.{1,2})?\//,
    problem: 'is a path, which is valid only on the command line of pip',
    remedy: 'Upload that package as well, and add it to packageUris.',
    isValidInFile: true,
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

/**
 * BROKEN_REQUIREMENT: warning for a requirement that pip always rejects (PyPA, "Dependency specifiers"): in metadata, an
 * option, path or URL instead of a name; there and in requirements files, `numpy=1.2`, `numpy 1.2`, `python>=3.5`, and
 * the stubs `sklearn` (fails since December 2023) and `skimage`. Misspelled names are not detected.
 */
export function checkRequirements({ packages }: LintSubject): LintFinding[] {
  return packages.flatMap(({ requirements, evidence }) => [
    ...requirements.flatMap((requirement) => findingsOf(requirement, INVALID)),
    ...evidence.requirementFiles.flatMap(({ path, text }) =>
      text
        .split('\n')
        .slice(0, REQUIREMENT_COUNT_MAX)
        .flatMap((line) => findingsOf(line, INVALID_IN_FILE, path)),
    ),
  ]);
}

const INVALID_IN_FILE = INVALID.filter(({ isValidInFile }) => isValidInFile === undefined);

function findingsOf(
  requirement: string,
  patterns: readonly InvalidRequirement[],
  path?: string,
): readonly LintFinding[] {
  const text = withoutComment(requirement);
  const found = patterns.find(({ pattern }) => pattern.test(text));
  if (found === undefined) {
    return [];
  }
  const place = path === undefined ? '' : ` of ${path}`;
  const message = `The requirement "${printableRequirement(text)}"${place} ${found.problem}.`;
  return [{ code: 'BROKEN_REQUIREMENT', severity: 'WARNING', message, remedy: found.remedy, path }];
}
