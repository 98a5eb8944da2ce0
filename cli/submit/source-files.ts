import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { Failure } from '#cli/core/failure.ts';
import { DEPENDENCY_FILES } from '#shared/package/archive/package-file-names.ts';
import { isInstallable } from '#shared/package/metadata/project-files.ts';
import {
  ENVIRONMENT_FILE,
  EXCLUDED_NAME,
  OUTPUTS_IGNORE_FILE,
  SOURCE_FILES_MAX,
} from '#shared/package/source-names.ts';

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
  /** The paths of folders without files, into which a program may write without creating them. */
  readonly emptyFolders: readonly string[];
  /** Symbolic links to folders, which could form cycles, and to what does not exist: they are left out. */
  readonly links: readonly string[];
  /** Whether there is a setup.py or pyproject.toml. */
  readonly hasBuildFile: boolean;
  /**
   * Whether the paths are relative to the folder `packageName`, whose name may be part of the module's: `folder.module`.
   */
  readonly isNamedFolder: boolean;
};

/** Files next to the package that are included, because an installation may read them. */
const PROJECT_FILES =
  /^(setup\.py|setup\.cfg|pyproject\.toml|MANIFEST\.in|(uv|poetry)\.lock|environment\.ya?ml|requirements[\w.-]*\.txt|(README|LICENSE|LICENCE|NOTICE)[\w.-]*)$/i;

export const REQUIREMENTS_FILE = 'requirements.txt';

const INSTALL_FILES: readonly string[] = ['setup.py', 'pyproject.toml'];

/**
 * Collects the files of a training package. The path is the package, a folder with `__init__.py` (as in gcloud), whose
 * project is around it; a single .py file; or any other folder, such as a project root, which is included as a whole.
 * Throws Failure if it cannot be read, or has too many files.
 *
 * @param isWhole includes a folder as a whole even if it has an `__init__.py`
 */
export async function collectSourceFiles(packagePath: string, isWhole = false): Promise<SourceFiles> {
  const path = resolve(packagePath);
  if (path.endsWith('.py') && (await isFile(path))) {
    return collectSingleFile(path);
  }
  const names = await readNames(path);
  return names.includes('__init__.py') && !isWhole ? collectPackage(path) : collectFolder(path, names);
}

/** A program of one file, and the lists of dependencies beside it. */
async function collectSingleFile(path: string): Promise<SourceFiles> {
  const [root, program] = [dirname(path), basename(path)];
  const found = await readNames(root);
  // A project around the file cannot be installed without its sources, which are not packed.
  const pyproject = found.includes('pyproject.toml') ? await readFile(join(root, 'pyproject.toml'), 'utf8') : null;
  const isProject = isInstallable({ setupScript: null, setupConfig: null, pyproject });
  const wanted = [program, REQUIREMENTS_FILE, ...DEPENDENCY_FILES, ...(isProject ? [] : ['pyproject.toml'])];
  const names = found.filter((name) => wanted.includes(name)).sort();
  const files = await Promise.all(names.map((name) => describeFile(join(root, name), name)));
  const packageName = program.slice(0, -'.py'.length);
  return { packageName, files, emptyFolders: [], links: [], hasBuildFile: false, isNamedFolder: false };
}

async function collectFolder(path: string, names: readonly string[]): Promise<SourceFiles> {
  const collected: Collected = { root: await realpath(path), files: [], emptyFolders: [], links: [] };
  await addFolder(collected, { path, relativePath: '' });
  const hasBuildFile = names.some((name) => INSTALL_FILES.includes(name));
  return { packageName: basename(path), ...collected, hasBuildFile, isNamedFolder: !hasBuildFile };
}

async function collectPackage(packagePath: string): Promise<SourceFiles> {
  const [root, packageName] = [dirname(packagePath), basename(packagePath)];
  const collected: Collected = { root: await realpath(root), files: [], emptyFolders: [], links: [] };
  const entries = await readdir(root, { withFileTypes: true });
  const hasBuildFile = entries.some(({ name }) => INSTALL_FILES.includes(name));
  for (const { name } of entries.sort(byName)) {
    const path = join(root, name);
    const found = await stat(path).catch(() => undefined);
    const isPackage =
      found?.isDirectory() && (name === packageName || (hasBuildFile && (await containsCode(path, name))));
    if (isPackage) {
      await addFolder(collected, { path, relativePath: name });
    } else if (found?.isFile() && (PROJECT_FILES.test(name) || (hasBuildFile && name.endsWith('.py')))) {
      collected.files.push(await describeFile(path, name));
    }
  }
  return { packageName, ...collected, hasBuildFile, isNamedFolder: false };
}

/** Whether the path is a file; false if it cannot be read. */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** The user's setup.py decides what is installed, so every package next to it is included. */
async function containsCode(path: string, name: string): Promise<boolean> {
  return !EXCLUDED_NAME.test(name) && (name === 'src' || (await readdir(path)).includes('__init__.py'));
}

type Collected = {
  /** Links to files outside of it are left out: a repository of others can have one to a key in the home folder. */
  readonly root: string;
  readonly files: SourceFile[];
  readonly emptyFolders: string[];
  readonly links: string[];
};

async function addFolder(collected: Collected, folder: { path: string; relativePath: string }): Promise<void> {
  const { root, files, emptyFolders, links } = collected;
  const entries = await readdir(folder.path, { withFileTypes: true });
  if (entries.some(({ name }) => name === ENVIRONMENT_FILE) || (await isOutputs(folder.path))) {
    return;
  }
  const included = entries.filter(({ name }) => !EXCLUDED_NAME.test(name)).sort(byName);
  if (included.length === 0 && folder.relativePath !== '') {
    emptyFolders.push(folder.relativePath);
  }
  for (const entry of included) {
    const path = join(folder.path, entry.name);
    const relativePath = folder.relativePath === '' ? entry.name : `${folder.relativePath}/${entry.name}`;
    if (entry.isDirectory()) {
      await addFolder(collected, { path, relativePath });
    } else if ((await isFile(path)) && (entry.isFile() || (await realpath(path)).startsWith(`${root}${sep}`))) {
      files.push(await describeFile(path, relativePath));
    } else if (entry.isSymbolicLink()) {
      links.push(relativePath);
    }
    if (files.length + emptyFolders.length > SOURCE_FILES_MAX) {
      throw new Failure(
        `The package has more than ${SOURCE_FILES_MAX} files (the last one: ${relativePath}). Put training data into a bucket.`,
      );
    }
  }
}

async function isOutputs(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, OUTPUTS_IGNORE_FILE.name), 'utf8').catch(() => '');
  return text === OUTPUTS_IGNORE_FILE.text;
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
    throw new Failure(`${path} cannot be read (${reason}): pass the folder of the Python package, or a .py file.`);
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
