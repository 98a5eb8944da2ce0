import type { PackageLayout, PackageProgram } from '#shared/domain/package-layout.ts';
import { findTop } from '#shared/package/archive/archive-checks.ts';
import { NO_METADATA, type ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { type Dependencies, readDependencies } from '#shared/package/metadata/dependencies.ts';
import { declaresDependencies, isInstallable } from '#shared/package/metadata/project-files.ts';
import { readScriptMetadata } from '#shared/package/metadata/pyproject.ts';
import { readScriptBlock } from '#shared/package/scan/script-block.ts';

/** The files of a package by path relative to its archive; a single file has the archive's name. */
export type PackageTree = {
  /** The file name of the archive. */
  readonly name: string;
  readonly paths: ReadonlySet<string>;
  /** The text of setup.py, setup.cfg or pyproject.toml, or of a program with inline metadata; null if there is none. */
  readonly readText: (path: string) => string | null;
};

const REQUIREMENTS_FILE = 'requirements.txt';

/** Build and test files, which are never the program. */
export const NO_PROGRAMS: ReadonlySet<string> = new Set(['setup', 'conftest', 'noxfile']);

/**
 * Decides the root of a package, its style, and what its program needs. Intake pins the layout on the job, and VMs
 * follow it.
 *
 * @param module the program: a dotted name, `trainer.task`, or the path of a script, `examples/train.py`
 */
export function decideLayout(tree: PackageTree, module: string): PackageLayout {
  if (/\.(?:whl|py|txt)$/i.test(tree.name)) {
    return layoutOfFile(tree, module);
  }
  const top = findTop(tree.paths);
  const bases = top === '' ? [''] : [top, ''];
  const project = bases.find((base) => isInstallable(filesOf(tree, base)));
  const roots = bases.flatMap((base) => importRootsOf(tree, base));
  const found = module.endsWith('.py') ? findScript(tree, bases, module) : findModule(tree, roots, module);
  const isPackage = tree.paths.has(join(top, '__init__.py'));
  const root = project ?? baseOf(found?.root, bases) ?? (isPackage ? '' : top);
  const program = found?.program ?? null;
  const importRoots = [...(found === null ? [] : [found.root]), ...importRootsOf(tree, root)];
  const isModuleOfProject = project !== undefined && program?.kind !== 'SCRIPT';
  const style = project === undefined ? 'SOURCES' : 'PROJECT';
  const isDeclared = project !== undefined && declaresDependencies(filesOf(tree, root));
  const requirementFiles = isDeclared ? [] : findRequirementFiles(tree, root, program);
  return {
    style,
    root,
    importRoots: [...new Set(importRoots)],
    program,
    workingDirectory: isModuleOfProject ? null : root,
    requirementFiles,
    requirements: [
      ...dependenciesOf(tree, { root, style, requirementFiles }).requirements,
      ...(isModuleOfProject ? [] : scriptOf(tree, program).requirements),
    ],
  };
}

const read = new WeakMap<PackageTree, Map<string, Dependencies>>();

/** The dependencies that the files in the root list, which are read once for all programs of a package. */
export function dependenciesOf(
  tree: PackageTree,
  { root, style, requirementFiles }: Pick<PackageLayout, 'root' | 'style' | 'requirementFiles'>,
): Dependencies {
  const files = read.get(tree) ?? new Map<string, Dependencies>();
  const hasRequirementsFile = requirementFiles.includes(join(root, REQUIREMENTS_FILE));
  const isProject = style === 'PROJECT';
  const folder = { isProject, isDeclared: isProject && declaresDependencies(filesOf(tree, root)), hasRequirementsFile };
  const key = JSON.stringify([root, folder]);
  const found = files.get(key) ?? readDependencies({ ...folder, readText: (name) => tree.readText(join(root, name)) });
  read.set(tree, files.set(key, found));
  return found;
}

function layoutOfFile(tree: PackageTree, module: string): PackageLayout {
  const isWheel = /\.whl$/i.test(tree.name);
  const found = module.endsWith('.py')
    ? isWheel
      ? null
      : findScript(tree, [''], module)
    : findModule(tree, [''], module);
  return {
    style: isWheel ? 'WHEEL' : 'FILE',
    root: '',
    importRoots: [''],
    program: found?.program ?? null,
    workingDirectory: found === null || isWheel ? null : '',
    requirementFiles: /\.txt$/i.test(tree.name) ? [tree.name] : [],
    requirements: isWheel ? [] : scriptOf(tree, found?.program ?? null).requirements,
  };
}

/** The inline metadata of the program's file (PEP 723), with the fields that `[project]` of a pyproject.toml has. */
export function scriptOf({ readText }: PackageTree, program: PackageProgram | null): ProjectMetadata {
  const block = program === null ? '' : readScriptBlock(readText(program.path) ?? '');
  return block === '' ? NO_METADATA : readScriptMetadata(block);
}

type Found = { readonly root: string; readonly program: PackageProgram };

function findScript({ paths }: PackageTree, bases: readonly string[], script: string): Found | null {
  const relative = script.replace(/^(?:\.\/)+/, '');
  const root = relative === 'setup.py' ? undefined : bases.find((base) => paths.has(join(base, relative)));
  return root === undefined ? null : { root, program: { kind: 'SCRIPT', path: join(root, relative) } };
}

function findModule({ paths }: PackageTree, roots: readonly string[], module: string): Found | null {
  if (NO_PROGRAMS.has(module) || module === '') {
    return null;
  }
  for (const root of roots) {
    const stem = join(root, module.replaceAll('.', '/'));
    // A package takes precedence over a module of the same name, and python -m runs only its __main__.
    const isPackage = paths.has(`${stem}/__init__.py`);
    const path = [`${stem}/__main__.py`, ...(isPackage ? [] : [`${stem}.py`])].find((one) => paths.has(one));
    if (path !== undefined) {
      return { root, program: { kind: 'MODULE', path } };
    }
  }
  return null;
}

function importRootsOf({ paths }: PackageTree, base: string): string[] {
  const source = join(base, 'src');
  const hasSource = [...paths].some((path) => path.startsWith(`${source}/`) && path.endsWith('.py'));
  return hasSource ? [base, source] : [base];
}

/** The base directory of an import root: of `src` too. */
function baseOf(root: string | undefined, bases: readonly string[]): string | undefined {
  return root === undefined ? undefined : bases.find((base) => root === base || root === join(base, 'src'));
}

/** `requirements.txt` in the root, and in the directories between it and the program. */
function findRequirementFiles({ paths }: PackageTree, root: string, program: PackageProgram | null): string[] {
  const inRoot = program !== null && (root === '' || program.path.startsWith(`${root}/`));
  const below = inRoot ? program.path.slice(root === '' ? 0 : root.length + 1).split('/') : [''];
  return below
    .map((_, depth) => join(root, [...below.slice(0, depth), REQUIREMENTS_FILE].join('/')))
    .filter((path) => paths.has(path));
}

function filesOf({ readText }: PackageTree, base: string) {
  return {
    setupScript: readText(join(base, 'setup.py')),
    setupConfig: readText(join(base, 'setup.cfg')),
    pyproject: readText(join(base, 'pyproject.toml')),
  };
}

function join(directory: string, path: string): string {
  return directory === '' ? path : `${directory}/${path}`;
}
