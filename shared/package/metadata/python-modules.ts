import { type Findings, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import type { PackageFiles, PackageRoot, Project } from '#shared/package/metadata/package-files.ts';
import { editDistance } from '#shared/text/nearest-name.ts';

/** Python modules of a package by dotted name. */
export type PythonModules = {
  /** Modules that `python -m NAME` can run, and their files. */
  readonly runnable: ReadonlyMap<string, string>;
  /** Directories with an `__init__.py`. */
  readonly packages: ReadonlySet<string>;
};

const MODULE_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u;
const SIMILAR_COUNT_MAX = 3;
/** Limits the time of the search for similar names. */
const COMPARED_NAMES_MAX = 2_000;
const COMPARED_CHARACTERS_MAX = 100;

/** Build and test scripts, which are not installed. */
const EXCLUDED: ReadonlySet<string> = new Set(['setup', 'conftest', 'noxfile']);

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
    } else if (!runnable.has(name) && !EXCLUDED.has(name)) {
      runnable.set(name, path);
    }
  }
  for (const name of packages) {
    // A package takes precedence over a module of the same name, and python -m runs only its __main__.
    if (runnable.get(name)?.endsWith('/__main__.py') === false) {
      runnable.delete(name);
    }
  }
  return { runnable, packages };
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

/** Checks that `python -m` can run a module; otherwise suggests similar names. */
export function checkModule(module: string, modules: PythonModules, { project, findings }: ModuleCheck): void {
  if (!MODULE_NAME.test(module)) {
    findings.addProblem(
      packageProblem('MODULE_NAME_INVALID', `"${printablePath(module)}" is not a valid name of a Python module.`),
    );
    return;
  }
  const path = modules.runnable.get(module);
  if (path === undefined) {
    findings.addProblem(describeMissing(module, modules, project.metadata));
    return;
  }
  const parents = parentsOf(module);
  const [parent] = parents;
  if (parent !== undefined && project.declaredPackages?.includes(parent) === false) {
    const message = `${path} is in the archive, but setup.py does not list the package ${parent}.`;
    findings.addWarning(packageProblem('MODULE_NOT_IN_PACKAGES', message, path));
  }
  const uninitialized = parents.find((name) => !modules.packages.has(name));
  if (uninitialized !== undefined && project.wheelTags.length === 0) {
    findings.addWarning(
      packageProblem('PACKAGE_INIT_MISSING', `The package ${uninitialized} has no __init__.py.`, path),
    );
  }
}

type ModuleCheck = { readonly project: Project; readonly findings: Findings };

function describeMissing(module: string, { runnable, packages }: PythonModules, { name }: ProjectMetadata) {
  const similar = findSimilar(module, [...runnable.keys()]);
  const suggestion = similar.length === 0 ? 'It contains no Python modules.' : `Similar names: ${similar.join(', ')}.`;
  if (packages.has(module)) {
    const message = `${module} is a package without __main__.py, which python -m cannot run. ${suggestion}`;
    return packageProblem('MODULE_NOT_RUNNABLE', message);
  }
  return packageProblem(
    'MODULE_NOT_FOUND',
    `The package ${name ?? ''} has no module ${module}. ${suggestion}`.replace('  ', ' '),
  );
}

/** The parent packages of a module, the nearest first: a.b and a for a.b.c. */
function parentsOf(module: string): string[] {
  const names = module.split('.');
  return names.slice(1).map((_, index) => names.slice(0, names.length - 1 - index).join('.'));
}

function findSimilar(module: string, names: readonly string[]): string[] {
  const head = module.slice(0, COMPARED_CHARACTERS_MAX);
  return names
    .slice(0, COMPARED_NAMES_MAX)
    .map((name) => ({ name, distance: editDistance(head, name.slice(0, COMPARED_CHARACTERS_MAX)) }))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, SIMILAR_COUNT_MAX)
    .map(({ name }) => name);
}
