import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '#cli/core/failure.ts';

export type SourceFile = {
  /** Below the root of the archive, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly isExecutable: boolean;
  readonly read: () => Promise<Uint8Array>;
};

export type SourceFiles = {
  readonly packageName: string;
  readonly files: readonly SourceFile[];
  /** There is a setup.py or pyproject.toml among them. */
  readonly isInstallable: boolean;
  readonly notes: readonly string[];
};

const FILES_COUNT_MAX = 20_000;

/** What is taken along from beside the package: what an installation reads, and a job file. */
const CONTEXT_FILES =
  /^(setup\.py|setup\.cfg|pyproject\.toml|MANIFEST\.in|requirements[\w.-]*\.txt|(README|LICENSE|LICENCE|NOTICE)[\w.-]*)$/i;

const INSTALL_FILES: readonly string[] = ['setup.py', 'pyproject.toml'];

/** Never part of a program: caches, what an installation left behind, and everything hidden. */
const LEFT_OUT = /^(\..*|__pycache__|.*\.py[co]|.*\.egg-info|node_modules)$/;

/**
 * The files of a training package. The path is the package itself, a folder with `__init__.py`, as in gcloud, or the
 * project's root with `setup.py` or `pyproject.toml`.
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
      notes: [`${packagePath} holds a whole project: all its packages were taken.`],
    });
  }
  throw new Failure(
    `${packagePath} is no Python package: it has no __init__.py (nor a setup.py or pyproject.toml). ` +
      'Name the folder that holds __init__.py, such as ./trainer.',
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
    const isOwn = found.isDirectory() && (name === packageName || (isInstallable && (await holdsCode(path, name))));
    if (isOwn) {
      await addFolder(files, { path, below: name });
    } else if (found.isFile() && (CONTEXT_FILES.test(name) || (isInstallable && name.endsWith('.py')))) {
      files.push(await describeFile(path, name));
    }
  }
  return { packageName, files, isInstallable, notes };
}

/** With a setup.py of the user's own, it decides what is installed: every package beside it must be there. */
async function holdsCode(path: string, name: string): Promise<boolean> {
  return !LEFT_OUT.test(name) && (name === 'src' || (await readdir(path)).includes('__init__.py'));
}

async function addFolder(files: SourceFile[], folder: { path: string; below: string }): Promise<void> {
  const entries = await readdir(folder.path, { withFileTypes: true });
  // The mark of a virtual environment, whatever its name (Python's `venv`): some commit it.
  if (entries.some(({ name }) => name === 'pyvenv.cfg')) {
    return;
  }
  for (const entry of entries.filter(({ name }) => !LEFT_OUT.test(name)).sort(byName)) {
    const [path, below] = [join(folder.path, entry.name), `${folder.below}/${entry.name}`];
    // A link to a folder is not followed: it may lead back to where it is.
    if (entry.isDirectory()) {
      await addFolder(files, { path, below });
    } else if ((await stat(path)).isFile()) {
      files.push(await describeFile(path, below));
    }
    if (files.length > FILES_COUNT_MAX) {
      throw new Failure(
        `The package holds more than ${FILES_COUNT_MAX} files (the last: ${below}). Put training data into a bucket.`,
      );
    }
  }
}

async function describeFile(path: string, below: string): Promise<SourceFile> {
  const { size, mode } = await stat(path);
  return { path: below, sizeBytes: size, isExecutable: (mode & 0o100) !== 0, read: () => readFile(path) };
}

async function readNames(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    throw new Failure(`${path} cannot be read as a folder (${reason}): name the folder of the Python package.`);
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
