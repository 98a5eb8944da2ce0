import { findTop } from '#shared/package/archive/archive-checks.ts';
import { type Findings, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageFiles, PackageRoot, Project } from '#shared/package/metadata/package-files.ts';
import { decideLayout, NO_PROGRAMS, type PackageTree } from '#shared/package/metadata/package-layout.ts';
import { editDistance } from '#shared/text/nearest-name.ts';

/** Python modules of a package by dotted name. */
export type PythonModules = {
  /** Modules that `python -m NAME` can run, and their files. */
  readonly runnable: ReadonlyMap<string, string>;
  /** Directories with an `__init__.py`. */
  readonly packages: ReadonlySet<string>;
  /** The path of a file relative to the archive. */
  readonly pathOf: (path: string) => string;
};

const MODULE_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u;
/** The path of a script; `..` and a leading slash are excluded. */
export const SCRIPT_PATH = /^(?!(?:.*\/)?\.\.\/)[^/\\\p{Cc}][^\\\p{Cc}]*\.py$/u;
const SIMILAR_COUNT_MAX = 3;
/** Limits the time of the search for similar names. */
const COMPARED_NAMES_MAX = 2_000;
const COMPARED_CHARACTERS_MAX = 100;

export function findModules(files: PackageFiles, roots: readonly PackageRoot[]): PythonModules {
  const runnable = new Map<string, string>();
  const packages = new Set<string>();
  for (const path of files.paths) {
    const name = moduleNameOf(path, roots);
    if (name === null) {
      continue;
    }
    if (name.endsWith('.__init__')) {
      packages.add(name.slice(0, -'.__init__'.length));
    } else if (name.endsWith('.__main__')) {
      runnable.set(name.slice(0, -'.__main__'.length), path);
    } else if (!runnable.has(name) && !NO_PROGRAMS.has(name)) {
      runnable.set(name, path);
    }
  }
  for (const name of packages) {
    // A package takes precedence over a module of the same name, and python -m runs only its __main__.
    if (runnable.get(name)?.endsWith('/__main__.py') === false) {
      runnable.delete(name);
    }
  }
  return { runnable, packages, pathOf: files.pathOf };
}

/** The dotted name of a .py file, relative to the first root that contains it; null if it cannot be imported. */
function moduleNameOf(path: string, roots: readonly PackageRoot[]): string | null {
  if (!path.endsWith('.py')) {
    return null;
  }
  for (const { prefix, directory } of roots) {
    if (directory !== '' && !path.startsWith(`${directory}/`)) {
      continue;
    }
    const below = path.slice(directory === '' ? 0 : directory.length + 1, -'.py'.length).replaceAll('/', '.');
    const name = prefix === '' ? below : `${prefix}.${below}`;
    return MODULE_NAME.test(name) ? name : null;
  }
  return null;
}

type ModuleCheck = {
  readonly tree: PackageTree;
  readonly project: Project;
  readonly modules: PythonModules;
};

/**
 * The file, relative to the archive, that runs for a module or the path of a script; null if the package does not
 * contain it. Includes modules that only an installation can rename (`package_dir`).
 */
export function findProgram(module: string, { tree, modules }: Pick<ModuleCheck, 'tree' | 'modules'>): string | null {
  const renamed = modules.runnable.get(module);
  return decideLayout(tree, module).program?.path ?? (renamed === undefined ? null : modules.pathOf(renamed));
}

/** Checks that Python can run a module, or a script by its path; otherwise suggests similar names. */
export function checkModule(module: string, check: ModuleCheck, findings: Findings): void {
  if (!MODULE_NAME.test(module) && !SCRIPT_PATH.test(module)) {
    findings.addProblem(
      packageProblem('MODULE_NAME_INVALID', `"${printablePath(module)}" is not a valid name of a Python module.`),
    );
  } else if (findProgram(module, check) === null) {
    findings.addProblem(describeMissing(module, check));
  }
}

function describeMissing(module: string, { tree, project, modules }: ModuleCheck) {
  const names = module.endsWith('.py') ? scriptsOf(tree) : namesOf(tree, modules);
  const similar = findSimilar(module, names);
  const suggestion = similar.length === 0 ? 'It contains no Python modules.' : `Similar names: ${similar.join(', ')}.`;
  if (modules.packages.has(module)) {
    const message = `${module} is a package without __main__.py, which python -m cannot run. ${suggestion}`;
    return packageProblem('MODULE_NOT_RUNNABLE', message);
  }
  const { style, root } = decideLayout(tree, module);
  const deeper = [...tree.paths].find((path) => /[^/]\/(?:setup\.py|pyproject\.toml)$/.test(path));
  const location =
    style === 'SOURCES' && deeper !== undefined && !deeper.startsWith(`${root}/setup.py`)
      ? ` There is a project at ${printablePath(deeper)}, which is not at the root of the archive.`
      : '';
  const what = module.endsWith('.py') ? `script ${printablePath(module)}` : `module ${module}`;
  const message = `The package ${project.metadata.name ?? ''} has no ${what}. ${suggestion}${location}`;
  return packageProblem('MODULE_NOT_FOUND', message.replace('  ', ' '));
}

/** The paths of scripts, relative to the only top-level directory if there is one. */
function scriptsOf({ paths }: PackageTree): string[] {
  const top = findTop(paths);
  const start = top === '' ? 0 : top.length + 1;
  return [...paths].filter((path) => path.endsWith('.py')).map((path) => path.slice(start));
}

/** The names that the program may have: also below the only top-level directory. */
function namesOf(tree: PackageTree, { runnable }: PythonModules): string[] {
  const top = findTop(tree.paths);
  const names = [...runnable.keys()];
  return decideLayout(tree, '').style === 'SOURCES' && MODULE_NAME.test(top) && !top.includes('.')
    ? [...names, ...names.map((name) => `${top}.${name}`)]
    : names;
}

/** Names that end with the same module first. */
function findSimilar(module: string, names: readonly string[]): string[] {
  const head = module.slice(0, COMPARED_CHARACTERS_MAX);
  const last = lastPartOf(module);
  return names
    .slice(0, COMPARED_NAMES_MAX)
    .map((name) => ({
      name,
      isSame: lastPartOf(name) === last,
      distance: editDistance(head, name.slice(0, COMPARED_CHARACTERS_MAX)),
    }))
    .sort((a, b) => Number(b.isSame) - Number(a.isSame) || a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, SIMILAR_COUNT_MAX)
    .map(({ name }) => printablePath(name));
}

function lastPartOf(name: string): string {
  return name.replace(/\.py$/, '').split(/[./]/).at(-1) ?? '';
}
