import { readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { describeError, Failure } from '#cli/core/failure.ts';
import { type IgnoreRules, parseIgnoreRules } from '#cli/images/ignore-rules.ts';
import { formatBytes } from '#cli/render/format.ts';
import { printablePath } from '#shared/package/archive/package-problem.ts';
import { CREDENTIAL_KINDS, findCredential, mayContainCredential } from '#shared/package/scan/credential-patterns.ts';
import { ENVIRONMENT_FILE } from '#shared/package/source-names.ts';

/** A file or symbolic link that a build can copy into the image. Paths are relative and separated by slashes. */
export type ContextFile = {
  readonly path: string;
  readonly sizeBytes: number;
  readonly isExecutable: boolean;
  /** The target of a symbolic link, as written; null for a file. */
  readonly target: string | null;
};

/** A file that the build does not get, and why. */
export type LeftOut = { readonly path: string; readonly reason: string };

export type BuildContext = {
  readonly directory: string;
  /** Sorted by path. */
  readonly files: readonly ContextFile[];
  readonly leftOut: readonly LeftOut[];
  readonly credentials: readonly LeftOut[];
};

/** Limits on what is sent to the engine or to Cloud Build. */
const CONTEXT_BYTES_MAX = 2 * 2 ** 30;
const CONTEXT_FILES_MAX = 50_000;
const LARGEST_COUNT = 5;
const CREDENTIAL_BYTES_MAX = 16 * 1_024;
const LEFT_OUT_MAX = 100;

/** Part of no image that is generated: hidden files, caches, packages of other tools, and what training leaves behind. */
export const GENERATED_IGNORE: readonly string[] = [
  '**/.*',
  '**/__pycache__',
  '**/*.py[co]',
  '**/*.egg-info',
  '**/node_modules',
  '/build',
  '/dist',
  '/lightning_logs',
  '/mlruns',
  '/outputs',
  '/wandb',
];

type Walk = {
  readonly directory: string;
  readonly rules: IgnoreRules;
  readonly isGenerated: boolean;
  readonly files: ContextFile[];
  readonly leftOut: LeftOut[];
};

/**
 * Collects what a build of the folder gets: everything that its ignore file does not exclude and, for a generated
 * Dockerfile, neither GENERATED_IGNORE nor virtual environments. Throws Failure for more than the limits.
 *
 * @param secretFile the real path of a file that only the build's commands may read
 */
export async function collectContext(
  directory: string,
  { dockerfile, secretFile }: { readonly dockerfile: string | null; readonly secretFile: string | null },
): Promise<BuildContext> {
  const own = await readIgnoreFile(directory, dockerfile);
  const lines = [...(dockerfile === null ? GENERATED_IGNORE : []), ...own.lines];
  const rules = parseIgnoreRules(lines, own.file);
  const walk: Walk = { directory, rules, isGenerated: dockerfile === null, files: [], leftOut: [] };
  await addFolder(walk, '');
  await removeSecret(walk, secretFile);
  rejectOversized(walk);
  const credentials = await findCredentials(walk);
  const secret = new Set(credentials.map(({ path }) => path));
  return { directory, files: walk.files.filter(({ path }) => !secret.has(path)), leftOut: walk.leftOut, credentials };
}

async function removeSecret({ directory, files }: Walk, secretFile: string | null): Promise<void> {
  const root = await realpath(directory);
  const found = files.findIndex(({ path }) => join(root, path) === secretFile);
  if (found !== -1) {
    files.splice(found, 1);
  }
}

/** The first of the files that engines read; both prefer one that is named after the Dockerfile. */
async function readIgnoreFile(directory: string, dockerfile: string | null) {
  const names = [...(dockerfile === null ? [] : [`${dockerfile}.dockerignore`]), '.containerignore', '.dockerignore'];
  for (const name of names) {
    const text = await readFile(join(directory, name), 'utf8').catch(() => null);
    if (text !== null) {
      return { file: name, lines: text.replace(/^\ufeff/, '').split(/\r?\n/) };
    }
  }
  return { file: '.dockerignore', lines: [] };
}

async function addFolder(walk: Walk, folder: string): Promise<void> {
  const entries = await readdir(join(walk.directory, folder), { withFileTypes: true });
  if (walk.isGenerated && folder !== '' && entries.some(({ name }) => name === ENVIRONMENT_FILE)) {
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const isIgnored = walk.rules.isIgnored(path);
    if (entry.isDirectory()) {
      if (!isIgnored || walk.rules.hasExceptions) {
        await addFolder(walk, path);
      }
    } else if (!isIgnored) {
      await addEntry(walk, path, entry.isSymbolicLink() ? 'LINK' : entry.isFile() ? 'FILE' : 'OTHER');
    }
  }
}

async function addEntry(walk: Walk, path: string, kind: 'FILE' | 'LINK' | 'OTHER'): Promise<void> {
  const location = join(walk.directory, path);
  if (kind === 'FILE') {
    const { size, mode } = await stat(location);
    walk.files.push({ path, sizeBytes: size, isExecutable: (mode & 0o111) !== 0, target: null });
  } else if (kind === 'LINK') {
    const target = await readlink(location);
    if (isInside(path, target)) {
      walk.files.push({ path, sizeBytes: 0, isExecutable: false, target });
    } else {
      leaveOut(walk, { path, reason: 'a link to a file outside of the folder' });
    }
  } else {
    leaveOut(walk, { path, reason: 'neither a file nor a folder' });
  }
  if (walk.files.length > CONTEXT_FILES_MAX) {
    throw new Failure(
      `The folder has more than ${CONTEXT_FILES_MAX} files (the last one: ${printablePath(path)}). List folders of data in .dockerignore.`,
    );
  }
}

function leaveOut(walk: Walk, one: LeftOut): void {
  if (walk.leftOut.length < LEFT_OUT_MAX) {
    walk.leftOut.push(one);
  }
}

function isInside(path: string, target: string): boolean {
  const resolved = posix.normalize(posix.join(posix.dirname(path), target));
  return !posix.isAbsolute(target) && resolved !== '..' && !resolved.startsWith('../');
}

function rejectOversized({ files, directory }: Walk): void {
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (sizeBytes > CONTEXT_BYTES_MAX) {
    const largest = files.toSorted((a, b) => b.sizeBytes - a.sizeBytes).slice(0, LARGEST_COUNT);
    const names = largest.map((file) => `${printablePath(file.path)} (${formatBytes(file.sizeBytes)})`).join(', ');
    throw new Failure(
      `${directory} has ${formatBytes(sizeBytes)} to send to the build; the limit is ${formatBytes(CONTEXT_BYTES_MAX)}. ` +
        `The largest files are ${names}. List them in .dockerignore; a program reads its data from a bucket.`,
    );
  }
}

/** Files that contain a key or a password, as far as intake's check of packages recognizes them; never their texts. */
async function findCredentials({ directory, files }: Walk): Promise<readonly LeftOut[]> {
  const found: LeftOut[] = [];
  for (const { path, sizeBytes, target } of files) {
    if (target === null && sizeBytes <= CREDENTIAL_BYTES_MAX && mayContainCredential(path)) {
      const kind = findCredential(path, await readText(join(directory, path)));
      if (kind !== null) {
        found.push({ path, reason: CREDENTIAL_KINDS[kind] });
      }
    }
  }
  return found;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Failure(`${path} cannot be read (${describeError(error)}). Correct its permissions, or ignore it.`);
  }
}
