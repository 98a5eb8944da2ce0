import { PROBLEM_COUNT_MAX } from '#shared/package/archive/package-limits.ts';
import type { Problem } from '#shared/protocol/report.ts';

const REPACK = 'Pack it again: `python -m build --sdist`, or `tar -czf package.tar.gz DIRECTORY`.';
const UPLOAD_AGAIN = 'Upload the file again; if it stays so, pack it again.';
const LESS =
  'Leave data, checkpoints and virtual environments out of the package: a program reads its data from a bucket.';

/** Every way in which a package can be wrong or doubtful, and what to do about it. */
export const PACKAGE_REMEDIES = {
  NOT_AN_ARCHIVE: 'Upload a Python source distribution (.tar.gz, .tar or .zip) or a wheel (.whl).',
  FORMAT_UNSUPPORTED: 'Pack it as .tar.gz: `tar -czf package.tar.gz DIRECTORY`.',
  FORMAT_NAME_MISMATCH: 'Rename the file to what it holds; pip goes by the ending of the name.',
  ARCHIVE_EMPTY: REPACK,
  ARCHIVE_TRUNCATED: UPLOAD_AGAIN,
  ARCHIVE_CORRUPT: UPLOAD_AGAIN,
  ARCHIVE_ENCRYPTED: 'Pack it without a password; access is governed by the bucket.',
  ARCHIVE_TOO_LARGE: LESS,
  ARCHIVE_BOMB: LESS,
  ENTRY_COUNT_EXCEEDED: LESS,
  ENTRY_TOO_LARGE: LESS,
  ENTRY_MALFORMED: REPACK,
  ENTRY_OVERLAPS: REPACK,
  ENTRY_COMPRESSION_UNSUPPORTED: 'Pack it with the common method: `zip -r package.zip DIRECTORY` (deflate).',
  ENTRY_SPECIAL: 'Leave devices, pipes and sparse files out of the package.',
  PATH_ABSOLUTE: 'Pack with paths relative to the project directory.',
  PATH_ESCAPES: 'Pack from inside the project directory, without `..` in any path.',
  PATH_BACKSLASH:
    'Pack with forward slashes, as the zip and tar formats ask for: `python -m build --sdist` does so on every system.',
  PATH_INVALID: 'Rename the file: UTF-8, no control characters, nothing that hides how the name reads.',
  PATH_TOO_LONG: 'Use shorter or fewer directory names.',
  PATH_DUPLICATE: 'Pack each file once; which of the two would be installed depends on the reader.',
  PATH_CONFLICT: 'Pack it again from one directory: a path cannot be a file and a directory.',
  PATH_CASE_COLLISION: 'Rename one of them: on macOS and Windows they are one file.',
  LINK_ESCAPES: 'Replace the link by the file it points to, or let it point inside the package.',
  LINK_LOOPS: 'Remove the link: following it never ends.',
  LINK_DANGLING: 'Pack the file that the hard link names before the link, or replace the link by the file.',
  LINK_IN_ZIP: 'Pack as .tar.gz, or replace the link by the file: Python unpacks a link in a zip as a small text file.',
  LINK_COUNT_EXCEEDED: 'Replace links by the files they point to.',
  INNER_ARCHIVES:
    'Nothing to do if they are data. A dependency belongs in `packageUris` or `install_requires` instead.',
  TEXT_TOO_LARGE: 'Make the file smaller: it is metadata, read at submission.',
  TEXT_NOT_UTF8: 'Save the file as UTF-8.',
  NOT_INSTALLABLE:
    'Put setup.py or pyproject.toml in the root of the archive, or in the one directory that holds everything.',
  PLAIN_SOURCE_TREE:
    'Nothing to do if the machine image has all that they import; otherwise add a setup.py with install_requires.',
  PYPROJECT_INVALID: 'Mend pyproject.toml; `python -m build` shows the same fault.',
  WHEEL_NAME_INVALID:
    'Keep the name that `pip wheel` or `python -m build --wheel` gave the file: name-version-python-abi-platform.whl.',
  WHEEL_METADATA_INVALID: 'Build the wheel again: `python -m build --wheel`.',
  WHEEL_PLATFORM_UNSUITABLE:
    'Build the wheel for Linux on x86-64 or for any platform, or upload the source distribution.',
  WHEEL_RECORD_MISMATCH: 'Build the wheel again instead of changing its files: `python -m build --wheel`.',
  MODULE_NAME_INVALID: 'Write the module as Python imports it, with dots and without .py: trainer.task.',
  MODULE_NOT_FOUND: 'Correct pythonModule (module, in the own form of Dropforge), or pack the module.',
  MODULE_NOT_RUNNABLE: 'Name a module inside the package, or add __main__.py to it: `python -m` runs that.',
  MODULE_NOT_IN_PACKAGES:
    'List the package in setup(packages=…), or use find_packages(); what is not listed is not installed.',
  PACKAGE_INIT_MISSING: 'Add an empty __init__.py: find_packages() leaves directories without one out.',
  PROBLEM_COUNT_EXCEEDED: 'Mend the problems above and upload again; the rest of the archive was not looked at.',
} as const satisfies Readonly<Record<string, string>>;

export type PackageProblemCode = keyof typeof PACKAGE_REMEDIES;

const SHOWN_PATH_CHARACTERS_MAX = 200;

/** A path as it may be shown: what a terminal could act on is escaped, what is endless is cut. */
export function showPath(path: string): string {
  const head = path.slice(0, SHOWN_PATH_CHARACTERS_MAX);
  const escaped = head.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return path.length > head.length ? `${escaped}…` : escaped;
}

export function packageProblemOf(code: PackageProblemCode, message: string, path?: string): Problem {
  return { code, message, remedy: PACKAGE_REMEDIES[code], ...(path === undefined ? {} : { path: showPath(path) }) };
}

/** Thrown inside an inspection where going on is pointless or costly; the inspection turns it into its last problem. */
export class InspectionStopped extends Error {
  readonly problem: Problem;

  constructor(code: PackageProblemCode, message: string, path?: string) {
    super(message);
    this.name = 'InspectionStopped';
    this.problem = packageProblemOf(code, message, path);
  }
}

export type Findings = {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Notes what must be mended. Throws InspectionStopped when there are too many to go on. */
  refuse(problem: Problem): void;
  /** Notes what may be meant; warnings beyond the first PROBLEM_COUNT_MAX are dropped. */
  warn(problem: Problem): void;
};

export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    refuse(problem) {
      problems.push(problem);
      if (problems.length >= PROBLEM_COUNT_MAX - 1) {
        throw new InspectionStopped('PROBLEM_COUNT_EXCEEDED', `The package has ${problems.length} problems or more.`);
      }
    },
    warn(problem) {
      if (warnings.length < PROBLEM_COUNT_MAX) {
        warnings.push(problem);
      }
    },
  };
}
