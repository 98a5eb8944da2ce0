import { PROBLEM_COUNT_MAX } from '#shared/package/archive/package-limits.ts';
import type { Problem } from '#shared/protocol/problem.ts';

const REPACK = 'Pack it again: `python -m build --sdist`, or `tar -czf package.tar.gz DIRECTORY`.';
const UPLOAD_AGAIN = 'Upload the file again; if the problem persists, pack it again.';
const LESS =
  'Exclude data, checkpoints and virtual environments from the package: a program reads its data from a bucket.';

/** The codes of all problems and warnings of packages, with their remedies. */
const PACKAGE_REMEDIES = {
  NOT_AN_ARCHIVE:
    'Upload a Python source distribution (.tar.gz, .tar or .zip) or a wheel (.whl) with a job.yaml at its root, or a job.yaml that names packages or .py files.',
  NOTEBOOK: 'Convert it (`jupyter nbconvert --to script NOTEBOOK.ipynb`), and use the .py file.',
  FORMAT_UNSUPPORTED: 'Pack it as .tar.gz: `tar -czf package.tar.gz DIRECTORY`.',
  FORMAT_NAME_MISMATCH: 'Rename the file to match its format; pip selects the format by file name.',
  ARCHIVE_EMPTY: REPACK,
  ARCHIVE_TRUNCATED: UPLOAD_AGAIN,
  ARCHIVE_CORRUPT: UPLOAD_AGAIN,
  INSPECTION_TIMED_OUT: UPLOAD_AGAIN,
  ARCHIVE_ENCRYPTED: 'Pack it without a password; access is controlled by the permissions of the bucket.',
  ARCHIVE_TOO_LARGE: LESS,
  ARCHIVE_BOMB: LESS,
  ENTRY_COUNT_EXCEEDED: LESS,
  ENTRY_TOO_LARGE: LESS,
  ENTRY_MALFORMED: REPACK,
  ENTRY_OVERLAPS: REPACK,
  ENTRY_COMPRESSION_UNSUPPORTED: 'Pack it with the deflate method: `zip -r package.zip DIRECTORY`.',
  ENTRY_SPECIAL: 'Exclude devices, pipes and sparse files from the package.',
  PATH_ABSOLUTE: 'Pack with paths relative to the project directory.',
  PATH_ESCAPES: 'Pack from inside the project directory, without `..` in any path.',
  PATH_BACKSLASH:
    'Pack with forward slashes, as the zip and tar formats require: `python -m build --sdist` does so on every system.',
  PATH_INVALID: 'Rename the file: use UTF-8 without control or bidirectional characters.',
  PATH_TOO_LONG: 'Use shorter or fewer directory names.',
  PATH_DUPLICATE: 'Pack each file once; which of the two is installed depends on the reader.',
  PATH_CONFLICT: 'Pack it again from one directory: a path cannot be a file and a directory.',
  PATH_CASE_COLLISION: 'Rename one of them: on macOS and Windows they are the same file.',
  LINK_ESCAPES: 'Replace the link by the file it points to, or change its target to a path inside the package.',
  LINK_LOOPS: 'Remove the link.',
  LINK_DANGLING: 'Pack the file that the hard link names before the link, or replace the link by the file.',
  LINK_IN_ZIP: 'Pack as .tar.gz, or replace the link by the file: Python unpacks a link in a zip as a small text file.',
  LINK_COUNT_EXCEEDED: 'Replace links by the files they point to.',
  INNER_ARCHIVES: 'Nothing to do if they are data. List dependencies in `packageUris` or `install_requires` instead.',
  TEXT_TOO_LARGE: 'Make the file smaller: it is metadata that is read at submission.',
  TEXT_NOT_UTF8: 'Save the file as UTF-8.',
  NOT_INSTALLABLE: 'Pack the folder that contains the Python files: `tar -czf package.tar.gz DIRECTORY`.',
  PYPROJECT_INVALID: 'Fix pyproject.toml; `python -m build` shows the same error.',
  WHEEL_NAME_INVALID:
    'Use the file name from `pip wheel` or `python -m build --wheel`: name-version-python-abi-platform.whl.',
  WHEEL_METADATA_INVALID: 'Build the wheel again: `python -m build --wheel`.',
  WHEEL_PLATFORM_UNSUITABLE:
    'Build the wheel for Linux on x86-64 (or on Arm, for Arm machines) or for any platform, or upload the source distribution.',
  WHEEL_RECORD_MISMATCH: 'Build the wheel again instead of changing its files: `python -m build --wheel`.',
  MODULE_NAME_INVALID:
    'Write the module as in an import, trainer.task, or the path of a script in the package, src/train.py.',
  MODULE_NOT_FOUND: 'Correct pythonModule (module in Dropforge job files), or add the module to the package.',
  MODULE_NOT_RUNNABLE: 'Use a module inside the package, or add a __main__.py, which `python -m` runs.',
  PROBLEM_COUNT_EXCEEDED: 'Fix the problems above and upload again; the rest of the archive was not checked.',
} as const satisfies Readonly<Record<string, string>>;

export type PackageProblemCode = keyof typeof PACKAGE_REMEDIES;

const PATH_CHARACTERS_MAX = 200;

/** Makes a path safe for terminals: truncates it and escapes control and bidirectional characters. */
export function printablePath(path: string): string {
  const head = path.slice(0, PATH_CHARACTERS_MAX);
  const escaped = head.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return path.length > head.length ? `${escaped}…` : escaped;
}

export function packageProblem(code: PackageProblemCode, message: string, path?: string): Problem {
  return {
    code,
    message,
    remedy: PACKAGE_REMEDIES[code],
    ...(path === undefined ? {} : { path: printablePath(path) }),
  };
}

/** Ends an inspection early, when continuing is useless or expensive; its problem becomes the last of the report. */
export class InspectionStopped extends Error {
  readonly problem: Problem;

  constructor(code: PackageProblemCode, message: string, path?: string) {
    super(message);
    this.name = 'InspectionStopped';
    this.problem = packageProblem(code, message, path);
  }
}

export type Findings = {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Adds a problem. Throws InspectionStopped if there are too many. */
  addProblem(problem: Problem): void;
  /** Adds a warning; warnings beyond the first PROBLEM_COUNT_MAX are dropped. */
  addWarning(problem: Problem): void;
};

export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    addProblem(problem) {
      problems.push(problem);
      if (problems.length >= PROBLEM_COUNT_MAX - 1) {
        throw new InspectionStopped('PROBLEM_COUNT_EXCEEDED', `The package has at least ${problems.length} problems.`);
      }
    },
    addWarning(problem) {
      if (warnings.length < PROBLEM_COUNT_MAX) {
        warnings.push(problem);
      }
    },
  };
}
