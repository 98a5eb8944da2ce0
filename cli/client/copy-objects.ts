import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { folderOf, formatGsUri, isGsUri, isPattern, parseGsUri } from '#cli/client/gs-uri.ts';
import { findObjects, type ObjectClient } from '#cli/client/object-client.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';

/** One file or object to copy; paths are absolute. */
export type Copy = { readonly from: string; readonly to: string };

type Request = { readonly sources: readonly string[]; readonly target: string; readonly isDeep: boolean };

/** A source with its name below the source that was asked for: '' for that itself. */
type Found = { readonly from: string; readonly source: string; readonly below: string };

/**
 * What goes where, by the rules of `gcloud storage cp`: a target that is a bucket, a folder that exists or a name that
 * ends with a slash takes the sources in; any other target is the new name of the only source.
 */
export async function planCopies(client: ObjectClient, request: Request): Promise<readonly Copy[]> {
  const { sources, target, isDeep } = request;
  const found: Found[] = [];
  for (const source of sources) {
    found.push(...(isGsUri(source) ? await findRemote(client, source, isDeep) : await findLocal(source, isDeep)));
  }
  const takesIn = await isContainer(client, target);
  const isSingle = found.length === 1 && found[0]?.below === '';
  if (!takesIn && !isSingle && sources.length > 1) {
    throw new UsageFailure(
      `${target} must be a folder, written with a slash at its end, to take ${found.length} files.`,
    );
  }
  return found.map(({ from, source, below }) => {
    const name = basename(source.replace(/\/+$/, ''));
    const parts = (takesIn ? [name, below] : [below]).filter((part) => part !== '');
    return { from, to: joinTarget(target, parts) };
  });
}

export async function runCopy(client: ObjectClient, { from, to }: Copy): Promise<void> {
  if (isGsUri(from) && isGsUri(to)) {
    await client.copy(parseGsUri(from), parseGsUri(to));
  } else if (isGsUri(from)) {
    await mkdir(dirname(to), { recursive: true });
    const draft = `${to}.part`;
    await pipeline(client.open(parseGsUri(from)), createWriteStream(draft));
    await rename(draft, to);
  } else {
    await client.write(parseGsUri(to), createReadStream(from));
  }
}

async function findRemote(client: ObjectClient, source: string, isDeep: boolean): Promise<readonly Found[]> {
  const { name: wanted } = parseGsUri(source);
  const objects = await findObjects(client, [source], { isDeep });
  return objects.map((object) => {
    const from = formatGsUri(object);
    const isItself = object.name === wanted || isPattern(wanted);
    return isItself
      ? { from, source: from, below: '' }
      : { from, source, below: object.name.slice(folderOf(wanted).length) };
  });
}

async function findLocal(source: string, isDeep: boolean): Promise<readonly Found[]> {
  const found = await stat(source).catch(() => undefined);
  if (found === undefined) {
    throw new Failure(`There is no file ${source}.`);
  }
  if (found.isFile()) {
    return [{ from: source, source, below: '' }];
  }
  if (!isDeep) {
    throw new Failure(`${source} is a folder: use -r to copy it with all that is below.`);
  }
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  // A link to a file is copied as the file; a link to a folder is not followed, since it may lead back to where it is.
  const kinds = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  const files = paths.filter((_, index) => kinds[index]?.isFile());
  if (files.length === 0) {
    throw new Failure(`There is no file in ${source}: a bucket holds no empty folders.`);
  }
  return files.map((from) => ({ from, source, below: relative(source, from).split(sep).join('/') }));
}

async function isContainer(client: ObjectClient, target: string): Promise<boolean> {
  if (!isGsUri(target)) {
    const found = await stat(target).catch(() => undefined);
    return target.endsWith('/') || found?.isDirectory() === true;
  }
  const address = parseGsUri(target);
  if (address.name === '' || address.name.endsWith('/')) {
    return true;
  }
  const { objects, folders } = await client.listFolder(address);
  return objects.length + folders.length > 0;
}

function joinTarget(target: string, parts: readonly string[]): string {
  if (isGsUri(target)) {
    const { bucket, name } = parseGsUri(target);
    return formatGsUri({ bucket, name: parts.length === 0 ? name : folderOf(name) + parts.join('/') });
  }
  const path = posix.join(...parts, '');
  // An object may be named `../x`; a file must not leave the folder that was asked for.
  if (path.split('/').includes('..')) {
    throw new Failure(
      `The object ${path} cannot be copied into ${target}: its name leads out of it. Copy it by its own name.`,
    );
  }
  return join(target, path);
}
