import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { folderOf, isGsUri, isPattern, readGsUri } from '#cli/client/gs-uri.ts';
import { findObjects, type ObjectClient } from '#cli/client/object-client.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

/** One file or object to copy. Local paths are absolute. */
export type Copy = { readonly from: string; readonly to: string };

type CopyRequest = { readonly sources: readonly string[]; readonly target: string; readonly isRecursive: boolean };

/** A file or object to copy, with its path relative to the requested source; empty for the source itself. */
type Found = { readonly from: string; readonly source: string; readonly relativePath: string };

/**
 * Maps sources to targets by the rules of `gcloud storage cp`: if the target is a bucket, an existing folder or ends
 * with a slash, sources are copied into it; otherwise the target is the new name of the single source.
 */
export async function planCopies(client: ObjectClient, request: CopyRequest): Promise<readonly Copy[]> {
  const { sources, target, isRecursive } = request;
  const found: Found[] = [];
  for (const source of sources) {
    found.push(
      ...(isGsUri(source) ? await findRemote(client, source, isRecursive) : await findLocal(source, isRecursive)),
    );
  }
  // TensorFlow and the console write empty objects for folders, `model/`, which no file can be named.
  const copied = found.filter(({ from }) => isGsUri(target) || !from.endsWith('/'));
  const isIntoTarget = await isContainer(client, target);
  const isSingle = found.length === 1 && found[0]?.relativePath === '';
  if (!isIntoTarget && !isSingle && sources.length > 1) {
    throw new UsageFailure(`${target} must be a folder to copy ${found.length} files into it: add a trailing slash.`);
  }
  return copied.map(({ from, source, relativePath }) => {
    const name = basename(source.replace(/\/+$/, ''));
    const parts = (isIntoTarget ? [name, relativePath] : [relativePath]).filter((part) => part !== '');
    return { from, to: joinTarget(target, parts) };
  });
}

export async function runCopy(client: ObjectClient, { from, to }: Copy): Promise<void> {
  if (isGsUri(from) && isGsUri(to)) {
    await client.copy(readGsUri(from), readGsUri(to));
  } else if (isGsUri(from)) {
    await download(client, from, to);
  } else {
    await client.write(readGsUri(to), () => createReadStream(from));
  }
}

/** Also if the process exits, there is the whole file or none. */
async function download(client: ObjectClient, from: string, to: string): Promise<void> {
  if ((await stat(to).catch(() => undefined))?.isFile() === false) {
    throw new Failure(`${to} is not a regular file: choose another name, or print the object with \`dropforge cat\`.`);
  }
  await mkdir(dirname(to), { recursive: true });
  const temporary = `${to}.part`;
  const discard = () => rmSync(temporary, { force: true });
  process.once('exit', discard);
  try {
    await pipeline(client.open(readGsUri(from)), createWriteStream(temporary));
    await rename(temporary, to);
  } finally {
    process.off('exit', discard);
    discard();
  }
}

async function findRemote(client: ObjectClient, source: string, isRecursive: boolean): Promise<readonly Found[]> {
  const { name: sourceName } = readGsUri(source);
  const objects = await findObjects(client, [source], { isRecursive });
  return objects.map((object) => {
    const from = toGsUri(object);
    const isItself = object.name === sourceName || isPattern(sourceName);
    return isItself
      ? { from, source: from, relativePath: '' }
      : { from, source, relativePath: object.name.slice(folderOf(sourceName).length) };
  });
}

async function findLocal(source: string, isRecursive: boolean): Promise<readonly Found[]> {
  const found = await stat(source).catch(() => undefined);
  if (found === undefined) {
    throw new Failure(`${source} does not exist.`);
  }
  if (found.isFile()) {
    return [{ from: source, source, relativePath: '' }];
  }
  if (!isRecursive) {
    throw new Failure(`${source} is a folder: use -r to copy it with its contents.`);
  }
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  // Symbolic links to files are copied as files; links to folders are not followed, because they can form cycles.
  const kinds = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  const files = paths.filter((_, index) => kinds[index]?.isFile());
  if (files.length === 0) {
    throw new Failure(`${source} contains no files: buckets cannot hold empty folders.`);
  }
  return files.map((from) => ({ from, source, relativePath: relative(source, from).split(sep).join('/') }));
}

async function isContainer(client: ObjectClient, target: string): Promise<boolean> {
  if (!isGsUri(target)) {
    const found = await stat(target).catch(() => undefined);
    return target.endsWith('/') || found?.isDirectory() === true;
  }
  const folder = readGsUri(target);
  if (folder.name === '' || folder.name.endsWith('/')) {
    return true;
  }
  const { objects, folders } = await client.listFolder(folder);
  return objects.length + folders.length > 0;
}

function joinTarget(target: string, parts: readonly string[]): string {
  if (isGsUri(target)) {
    const { bucket, name } = readGsUri(target);
    return toGsUri({ bucket, name: parts.length === 0 ? name : folderOf(name) + parts.join('/') });
  }
  const path = posix.join(...parts, '');
  // Path traversal: an object can be named `../x`, but files are written only inside the target.
  if (path.split('/').includes('..')) {
    throw new Failure(
      `The object ${path} cannot be copied into ${target}: its name points outside of the target. Copy it separately to a file name.`,
    );
  }
  return join(target, path);
}
