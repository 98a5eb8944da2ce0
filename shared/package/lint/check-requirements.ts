import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { REQUIREMENT_COUNT_MAX, withoutComment } from '#shared/package/lint/requirement.ts';
import { printableRequirement } from '#shared/package/metadata/core-metadata.ts';

type Invalid = readonly [pattern: RegExp, problem: string, remedy: string];

/** Invalid requirements; the first match is reported. */
const INVALID_IN_FILE: readonly Invalid[] = [
  [/^[A-Za-z0-9][\w.-]*[ \t]*(?:\[[^\]]*\])?[ \t]*=(?!=)/, 'has one = before the version instead of two', 'Write ==.'],
  [/^[A-Za-z0-9][\w.-]*[ \t]+v?\d/, 'has no operator before the version', 'Write == between the name and the version.'],
  [
    /^python[ \t]*(?:$|[<>=!~;(])/i,
    'is not a package in the index',
    'Write it as python_requires, or requires-python in pyproject.toml.',
  ],
  [/^sklearn[ \t]*(?:$|[;>])/i, 'is a stub whose installation fails', 'Write scikit-learn.'],
  [/^skimage[ \t]*(?:$|[;>=(])/i, 'is a stub whose installation fails', 'Write scikit-image.'],
];

/** In metadata, also what pip accepts in a requirements file. */
const INVALID: readonly Invalid[] = [
  [
    /^-/,
    'is a pip option, which is valid only in a requirements file',
    'Remove the line from the requirements of setup.py or pyproject.toml.',
  ],
  [/^(?:git\+|https?:\/\/|file:)/, 'is a URL without a package name', 'Write `name @ url`.'],
  [
    /^(?:\.{1,2})?\//,
    'is a path, which is valid only on the command line of pip',
    'Upload that package as well, and add it to packageUris.',
  ],
  ...INVALID_IN_FILE,
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

function findingsOf(requirement: string, patterns: readonly Invalid[], path?: string): readonly LintFinding[] {
  const text = withoutComment(requirement);
  const [, problem, remedy] = patterns.find(([pattern]) => pattern.test(text)) ?? [];
  if (remedy === undefined) {
    return [];
  }
  const place = path === undefined ? '' : ` of ${path}`;
  const message = `The requirement "${printableRequirement(text)}"${place} ${problem}.`;
  return [{ code: 'BROKEN_REQUIREMENT', severity: 'WARNING', message, remedy, path }];
}
