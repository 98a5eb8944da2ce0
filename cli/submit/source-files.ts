import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '#cli/core/failure.ts';

export type SourceFile = {
  /** Relative to the root of the archive, separated by slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly isExecutable: boolean;
  readonly read: () => Promise<Uint8Array>;
};

export type SourceFiles = {
  readonly packageName: string;
  readonly files: readonly SourceFile[];
  /** Whether a setup.py or pyproject.toml is included. */
  readonly isInstallable: boolean;
  readonly notes: readonly string[];
};

const FILES_COUNT_MAX = 20_000;

/** Files next to the package that are included, because an installation may read them. */
const PROJECT_FILES =
  /^(setup\.py|setup\.cfg|pyproject\.toml|MANIFEST\.in|requirements[\w.-]*\.txt|(README|LICENSE|LICENCE|NOTICE)[\w.-]*)$/i;

const INSTALL_FILES: readonly string[] = ['setup.py', 'pyproject.toml'];

/** Never included: caches, leftovers of installations, and hidden files. */
const EXCLUDED = /^(\..*|__pycache__|.*\.py[co]|.*\.egg-info|node_modules)$/;

/**
 * Collects the files of a training package. The path is either the package, a folder with `__init__.py` (as in gcloud),
 * or a project root with `setup.py` or `pyproject.toml`. Throws Failure if it is neither, or has too many files.
 */
export async function collectSourceFiles(packagePath: string): Promise<SourceFiles> {
  const path = resolve(packagePath);
  const names = await readNames(path);
  if (names.includes('__init__.py')) {
    return collect({ root: dirname(path), packageName: basename(path), notes: [] });
  }
  if (names.some((name) => INSTALL_FILES.includes(name))) {
    return collect({
      root: path,
      packageName: basename(path),
      notes: [`${packagePath} is a project root: all of its packages are included.`],
    });
  }
  throw new Failure(
    `${packagePath} is not a Python package: it has no __init__.py, setup.py or pyproject.toml. ` +
      'Pass the folder that contains __init__.py, such as ./trainer.',
  );
}

async function collect(source: { root: string; packageName: string; notes: readonly string[] }): Promise<SourceFiles> {
  const { root, packageName, notes } = source;
  const files: SourceFile[] = [];
  const entries = await readdir(root, { withFileTypes: true });
  const isInstallable = entries.some(({ name }) => INSTALL_FILES.includes(name));
  for (const { name } of entries.sort(byName)) {
    const path = join(root, name);
    const found = await stat(path);
    const isPackage =
      found.isDirectory() && (name === packageName || (isInstallable && (await containsCode(path, name))));
    if (isPackage) {
      await addFolder(files, { path, relativePath: name });
    } else if (found.isFile() && (PROJECT_FILES.test(name) || (isInstallable && name.endsWith('.py')))) {
      files.push(await describeFile(path, name));
    }
  }
  return { packageName, files, isInstallable, notes };
}

/** The user's setup.py decides what is installed, so every package next to it is included. */
async function containsCode(path: string, name: string): Promise<boolean> {
  return !EXCLUDED.test(name) && (name === 'src' || (await readdir(path)).includes('__init__.py'));
}

async function addFolder(files: SourceFile[], folder: { path: string; relativePath: string }): Promise<void> {
  const entries = await readdir(folder.path, { withFileTypes: true });
  // Marks a virtual environment (Python's `venv`), which some projects commit.
  if (entries.some(({ name }) => name === 'pyvenv.cfg')) {
    return;
  }
  for (const entry of entries.filter(({ name }) => !EXCLUDED.test(name)).sort(byName)) {
    const [path, relativePath] = [join(folder.path, entry.name), `${folder.relativePath}/${entry.name}`];
    // Symbolic links to folders are not followed, because they can form cycles.
    if (entry.isDirectory()) {
      await addFolder(files, { path, relativePath });
    } else if ((await stat(path)).isFile()) {
      files.push(await describeFile(path, relativePath));
    }
    if (files.length > FILES_COUNT_MAX) {
      throw new Failure(
        `The package has more than ${FILES_COUNT_MAX} files (the last one: ${relativePath}). Put training data into a bucket.`,
      );
    }
  }
}

async function describeFile(path: string, relativePath: string): Promise<SourceFile> {
  const { size, mode } = await stat(path);
  return { path: relativePath, sizeBytes: size, isExecutable: (mode & 0o100) !== 0, read: () => readFile(path) };
}

async function readNames(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    throw new Failure(`${path} cannot be read as a folder (${reason}): pass the folder of the Python package.`);
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
