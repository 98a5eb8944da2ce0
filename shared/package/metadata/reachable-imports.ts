import { posix } from 'node:path';
import type { PackageRoot } from '#shared/package/metadata/package-files.ts';
import { decideLayout, type PackageTree } from '#shared/package/metadata/package-layout.ts';
import type { ModuleImport } from '#shared/package/scan/module-imports.ts';

/** A module that the package does not contain, and the first import of it. */
export type OutsideImport = {
  /** Possible dotted names, the longest first: `google.cloud.storage`, `google.cloud`, `google`. */
  readonly names: readonly string[];
  readonly path: string;
  readonly line: number;
};

export type ImportedSources = {
  readonly tree: PackageTree;
  readonly roots: readonly PackageRoot[];
  /** The imports of every scanned source, by its path in the archive. */
  readonly imports: ReadonlyMap<string, readonly ModuleImport[]>;
};

/**
 * The modules outside of the package that starting its program certainly imports: by statements at the top level of the
 * program's file and of the package's files that those import. Names that any file or folder of the package has are
 * left out, because programs change `sys.path`. Returns an empty list if the package does not contain the program.
 */
export function findOutsideImports(module: string, { tree, imports, ...project }: ImportedSources): OutsideImport[] {
  const { program, importRoots, root } = decideLayout(tree, module);
  if (program === null) {
    return [];
  }
  const folder = posix.dirname(program.path);
  const projectRoots = project.roots
    .filter(({ prefix }) => prefix === '')
    .map(({ directory }) => posix.join(root, directory));
  const searched = [...(program.kind === 'SCRIPT' ? [folder] : []), ...importRoots, ...projectRoots];
  const own = new Set([...tree.paths].flatMap((path) => path.split('/').map((part) => part.split('.')[0] ?? '')));
  const folders = new Set([...tree.paths].flatMap((path) => prefixesOf(path, '/').slice(1)));
  const filesOf = (name: string, roots: readonly string[]) => findFiles(name, { paths: tree.paths, folders, roots });
  const found = new Map<string, OutsideImport>();
  const pending = [program.path, ...(program.kind === 'MODULE' ? filesOf(module, searched) : [])];
  const visited = new Set<string>();
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const one of visited.has(path) ? [] : (imports.get(path) ?? [])) {
      const [top = ''] = one.module.split('.');
      if (one.level > 0) {
        const base = posix.join(posix.dirname(path), ...Array<string>(one.level - 1).fill('..'));
        pending.push(...targetsOf(one).flatMap((name) => filesOf(name, [base])));
      } else if (own.has(top)) {
        pending.push(...targetsOf(one).flatMap((name) => filesOf(name, searched)));
      } else {
        for (const name of targetsOf(one)) {
          found.set(name, found.get(name) ?? { names: prefixesOf(name, '.'), path, line: one.line });
        }
      }
    }
    visited.add(path);
  }
  return [...found.values()];
}

/** Lists the modules that a statement may import: `from a import b` imports `a.b` if that is a module. */
function targetsOf({ module, names }: ModuleImport): string[] {
  return names.length === 0 ? [module] : names.map((name) => (module === '' ? name : `${module}.${name}`));
}

/** The longest first: of `a.b.c` also `a.b` and `a`. */
function prefixesOf(name: string, separator: string): string[] {
  const parts = name.split(separator);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join(separator));
}

type Searched = {
  readonly paths: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
  readonly roots: readonly string[];
};

/** The files that importing a module executes: those of its parent packages, and its own. */
function findFiles(module: string, { paths, folders, roots }: Searched): string[] {
  const parts = module.split('.');
  const tops = roots.map((root) => posix.join(root, parts[0] ?? ''));
  // A folder without __init__.py can be imported, too.
  const root = roots[tops.findIndex((top) => paths.has(`${top}.py`) || folders.has(top))];
  return root === undefined
    ? []
    : parts.flatMap((_, index) => {
        const stem = posix.join(root, ...parts.slice(0, index + 1));
        return [`${stem}/__init__.py`, `${stem}.py`].filter((path) => paths.has(path)).slice(0, 1);
      });
}
