import { readFile } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { Failure } from '#cli/core/failure.ts';
import type { BuildContext } from '#cli/images/build-context.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import type { PackageFiles } from '#shared/package/metadata/package-files.ts';
import { decideLayout, type PackageLayout, type PackageTree } from '#shared/package/metadata/package-layout.ts';
import { readPyproject } from '#shared/package/metadata/pyproject.ts';
import { checkModule, findModules, findProgram } from '#shared/package/metadata/python-modules.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { createFileScan } from '#shared/package/scan/file-scan.ts';

/** What a Dockerfile needs to know of a Python program. */
export type ProgramToBuild = {
  /** A module, `trainer.task`, or the path of a script from the working directory, `src/train.py`. */
  readonly module: string;
  /** The command that pip installs and that is run instead of the module; null if the module is run. */
  readonly script: string | null;
  /** Of the job file in the folder; undefined if there is none. */
  readonly runtimeVersion: string | undefined;
  readonly layout: PackageLayout;
  /** Requirements files to install, and the files that they include. */
  readonly requirementFiles: readonly string[];
  readonly includedFiles: readonly string[];
  /** Whether these files name paths in the program's folder, so that they can be installed only after it was copied. */
  readonly needsSources: boolean;
  /** Requirements of the project's metadata; empty if only its build can tell them. */
  readonly requirements: readonly string[];
};

/** Texts of metadata and of requirements; larger files are none. */
const TEXT_BYTES_MAX = 1 << 20;
const INCLUDED_FILES_MAX = 50;

/**
 * Reads how a folder of Python code is installed and run, by intake's rules and without running any of it. Throws
 * Failure if it has no program, or several and none is named.
 *
 * @param moduleName the module to run, or the path of a script
 */
export async function readProgram(context: BuildContext, moduleName: string | undefined): Promise<ProgramToBuild> {
  const texts = await readTexts(context);
  const paths = context.files.map(({ path }) => path);
  // A file that belongs to no program keeps the root of the folder the root of the package.
  const name = `${basename(context.directory)}.tar.gz`;
  const tree: PackageTree = {
    name,
    paths: new Set([...paths, ROOT_MARK]),
    readText: (path) => texts.get(path) ?? null,
  };
  const files: PackageFiles = {
    paths,
    has: (path) => tree.paths.has(path),
    pathOf: (path) => path,
    readText: tree.readText,
    evidence: createFileScan().evidence,
  };
  const draft = readDraft(texts);
  const job = draft === null ? undefined : masterOf(draft);
  const findings = createFindings();
  const project = readSourceProject(files, findings);
  const modules = findModules(files, project.roots);
  const named = moduleName ?? job?.program.pythonModule?.value;
  const chosen = named === undefined ? chooseProgram(context.directory, [...modules.runnable.keys()], texts) : null;
  const module = named ?? chosen?.module ?? '';
  checkModule(module, { tree, project, modules }, findings);
  const [problem] = findings.problems;
  if (problem !== undefined) {
    throw new Failure(`${context.directory}: ${problem.message} ${moduleRemedy(problem.code) ?? problem.remedy}`);
  }
  const layout = decideLayout(tree, module);
  const included = includeRequirements(layout.requirementFiles, texts);
  return {
    module: layout.program?.kind === 'SCRIPT' ? posix.relative(layout.root, layout.program.path) : module,
    script: layout.style === 'PROJECT' ? (chosen?.script ?? null) : null,
    runtimeVersion: draft?.runtimeVersion?.value,
    layout: { ...layout, program: layout.program ?? installedProgram(findProgram(module, { tree, modules })) },
    requirementFiles: layout.requirementFiles,
    ...included,
    requirements: layout.style === 'PROJECT' ? project.metadata.requirements : layout.requirements,
  };
}

/** `findTop` takes an only folder for the root of an archive, and this is no archive. */
const ROOT_MARK = 'dropforge-root';

function installedProgram(path: string | null): PackageLayout['program'] {
  return path === null ? null : { kind: 'MODULE', path };
}

function moduleRemedy(code: string): string | undefined {
  return code.startsWith('MODULE_') ? 'Correct --module, or module in the job file.' : undefined;
}

async function readTexts({ directory, files }: BuildContext): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const wanted = files.filter(({ path, sizeBytes, target }) => {
    const isMetadata = !path.includes('/') && /\.(?:py|cfg|toml|ya?ml|json)$|^PKG-INFO$/.test(path);
    const isRequirements = /\.(?:txt|in)$/.test(path);
    return target === null && sizeBytes <= TEXT_BYTES_MAX && (isMetadata || isRequirements);
  });
  for (const { path } of wanted) {
    texts.set(path, await readFile(join(directory, path), 'utf8'));
  }
  return texts;
}

function readDraft(texts: ReadonlyMap<string, string>): JobDraft | null {
  const fileName = JOB_FILE_NAMES.find((name) => texts.has(name));
  return fileName === undefined ? null : readJobFile(texts.get(fileName) ?? '', { fileName }).draft;
}

type Choice = { readonly module: string; readonly script: string | null };

/**
 * The conventional module of AI Platform's packages, the only command that the project installs, or the only module. A
 * module that a command calls may do nothing when it is run itself.
 */
function chooseProgram(directory: string, runnable: readonly string[], texts: ReadonlyMap<string, string>): Choice {
  const conventional = runnable.filter((name) => name === 'task' || name.endsWith('.task'));
  const [script, ...otherScripts] = Object.entries(readScripts(texts));
  if (conventional.length === 0 && script !== undefined && otherScripts.length === 0) {
    return { script: script[0], module: script[1].split(':')[0]?.trim() ?? '' };
  }
  const [only, ...others] = conventional.length > 0 ? conventional : runnable;
  if (only !== undefined && others.length === 0) {
    return { module: only, script: null };
  }
  const names = runnable.toSorted().slice(0, 5).join(', ');
  throw new Failure(
    only === undefined
      ? `${directory} has neither a Dockerfile nor Python code. Pass the folder of a program.`
      : `${directory} has several modules that can be run (${names}${runnable.length > 5 ? ', …' : ''}). Choose one with --module.`,
  );
}

function readScripts(texts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const pyproject = readPyproject(texts.get('pyproject.toml') ?? '', 'pyproject.toml');
  return 'scripts' in pyproject ? pyproject.scripts : {};
}

/** An option of a requirements file that names another one, with or without a space or `=`. */
const INCLUDE = /^\s*(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)/;
/** A requirement that is a path: the project itself, or a package in the folder. */
const LOCAL =
  /^\s*(?:(?:-e|--editable|-f|--find-links)[\s=]*)?\.{0,2}\/|^\s*(?:-e|--editable)[\s=]+\.|^\s*\.\s*(?:\[|$)|\bfile:/;

function includeRequirements(
  start: readonly string[],
  texts: ReadonlyMap<string, string>,
): Pick<ProgramToBuild, 'includedFiles' | 'needsSources'> {
  const seen = new Set(start);
  let needsSources = false;
  for (const path of seen) {
    for (const line of (texts.get(path) ?? '').split('\n')) {
      const name = INCLUDE.exec(line)?.[1];
      const included = name === undefined ? undefined : posix.normalize(posix.join(posix.dirname(path), name));
      needsSources ||=
        LOCAL.test(line) || (included !== undefined && !/^[\w-]+:/.test(name ?? '') && !texts.has(included));
      if (included !== undefined && texts.has(included) && seen.size < INCLUDED_FILES_MAX) {
        seen.add(included);
      }
    }
  }
  return { includedFiles: [...seen].filter((path) => !start.includes(path)), needsSources };
}
