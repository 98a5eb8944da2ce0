import { type Findings, packageProblemOf, showPath } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import type { PackageRoot } from '#shared/package/metadata/package-root.ts';

/** Python modules of a package by dotted name. */
export type PythonModules = {
  /** What `python -m NAME` can run, and the file that it runs. */
  readonly runnable: ReadonlyMap<string, string>;
  /** Directories with an `__init__.py`. */
  readonly packages: ReadonlySet<string>;
};

const MODULE_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u;
const NEAREST_COUNT_MAX = 3;
/** Names beyond are no one's typing error; comparing them would only cost time. */
const COMPARED_NAMES_MAX = 2_000;
const COMPARED_CHARACTERS_MAX = 100;

/** Scripts beside the packages that build or test them, and are not installed. */
const NO_MODULES: ReadonlySet<string> = new Set(['setup', 'conftest', 'noxfile']);

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
    } else if (!runnable.has(name) && !NO_MODULES.has(name)) {
      runnable.set(name, path);
    }
  }
  for (const name of packages) {
    // A directory with __init__.py comes before a file of the same name, and python -m runs only its __main__.
    if (runnable.get(name)?.endsWith('/__main__.py') === false) {
      runnable.delete(name);
    }
  }
  return { runnable, packages };
}

/** Under the first root that holds it, the dotted name of a .py file; null where no import leads to it. */
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

/** Checks that `python -m module` will find something to run, and says what is there instead. */
export function checkModule(module: string, modules: PythonModules, { project, findings }: ModuleCheck): void {
  if (!MODULE_NAME.test(module)) {
    findings.refuse(packageProblemOf('MODULE_NAME_INVALID', `"${showPath(module)}" is no name of a Python module.`));
    return;
  }
  const path = modules.runnable.get(module);
  if (path === undefined) {
    findings.refuse(explainMissing(module, modules, project.metadata));
    return;
  }
  const parents = parentsOf(module);
  const [parent] = parents;
  if (parent !== undefined && project.declaredPackages?.includes(parent) === false) {
    const message = `${path} is in the archive, but setup.py does not list the package ${parent}.`;
    findings.warn(packageProblemOf('MODULE_NOT_IN_PACKAGES', message, path));
  }
  const bare = parents.find((name) => !modules.packages.has(name));
  if (bare !== undefined && project.wheelTags.length === 0) {
    findings.warn(packageProblemOf('PACKAGE_INIT_MISSING', `The package ${bare} has no __init__.py.`, path));
  }
}

type ModuleCheck = { readonly project: Project; readonly findings: Findings };

function explainMissing(module: string, { runnable, packages }: PythonModules, { name }: ProjectMetadata) {
  const nearest = findNearest(module, [...runnable.keys()]);
  const instead = nearest.length === 0 ? 'It holds no Python module.' : `Nearest in it: ${nearest.join(', ')}.`;
  if (packages.has(module)) {
    const message = `${module} is a package without __main__.py, which python -m cannot run. ${instead}`;
    return packageProblemOf('MODULE_NOT_RUNNABLE', message);
  }
  return packageProblemOf(
    'MODULE_NOT_FOUND',
    `The package ${name ?? ''} holds no module ${module}. ${instead}`.replace('  ', ' '),
  );
}

/** The packages around a module, the nearest first: a.b.c lies in a.b, which lies in a. */
function parentsOf(module: string): string[] {
  const names = module.split('.');
  return names.slice(1).map((_, index) => names.slice(0, names.length - 1 - index).join('.'));
}

function findNearest(module: string, names: readonly string[]): string[] {
  return names
    .slice(0, COMPARED_NAMES_MAX)
    .map((name) => ({ name, distance: countEdits(module, name) }))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, NEAREST_COUNT_MAX)
    .map(({ name }) => name);
}

/** Levenshtein's distance: insertions, deletions and replacements of one character. */
function countEdits(first: string, second: string): number {
  const [a, b] = [first.slice(0, COMPARED_CHARACTERS_MAX), second.slice(0, COMPARED_CHARACTERS_MAX)];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 0; line < a.length; line += 1) {
    const next = [line + 1];
    for (let column = 0; column < b.length; column += 1) {
      const replaced = (row[column] ?? 0) + (a[line] === b[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
