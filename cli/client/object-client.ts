import { pipeline, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { File } from '@google-cloud/storage';
import type { Target } from '#cli/client/find-target.ts';
import { folderOf, isPattern, literalPrefixOf, matchesPattern, readGsUri } from '#cli/client/gs-uri.ts';
import { embeddedRemedies } from '#cli/client/request-json.ts';
import { describeError, Failure, NotFound, unlessNotFound } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { readObject } from '#infra/google-cloud/cloud-storage/read-object.ts';
import { isTransient, repeat, statusOf } from '#infra/google-cloud/cloud-storage/retries.ts';
import { writeObject, writeOnce } from '#infra/google-cloud/cloud-storage/write-object.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

const NOT_FOUND = 404;
const PRECONDITION_FAILED = 412;

export type StoredObject = ObjectName & {
  readonly sizeBytes: number;
  readonly updateTime: string;
  readonly generation: string;
};

/** `includeVersions`: also noncurrent versions (replaced or deleted objects that the bucket still keeps). */
type Versions = { readonly includeVersions?: boolean };

/**
 * The buckets of a cloud, through Google's client library. Requests are repeated after transient errors; they write,
 * copy and delete once all the same. Throws Failure with the URI for 401, 403 and 404, and for errors that last.
 */
export type ObjectClient = {
  listBuckets(): Promise<readonly string[]>;
  /** Lists the direct children of a folder; folder names end with a slash. */
  listFolder(
    folder: ObjectName,
    options?: Versions,
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly folders: readonly string[] }>;
  /** Lists what a URI matches: the object itself, matches of a pattern, and with `isRecursive` everything below. */
  find(target: ObjectName, options: Versions & { readonly isRecursive: boolean }): Promise<readonly StoredObject[]>;
  /** Yields the bytes of the live object, decompressed. */
  open(object: ObjectName): AsyncIterable<Uint8Array>;
  /** Returns the object as text; undefined if it does not exist. */
  readText(object: ObjectName): Promise<string | undefined>;
  /** With `isNew`, returns `exists` without writing if the object already exists. A stream is opened for each try. */
  write(
    object: ObjectName,
    body: Uint8Array | (() => Readable),
    options?: { readonly isNew?: boolean },
  ): Promise<'written' | 'exists'>;
  copy(from: ObjectName, to: ObjectName): Promise<void>;
  /** Deletes the live object if it has this generation, if one is given; with `isVersion` that one permanently. */
  delete(object: ObjectName & Deletion): Promise<void>;
};

type Deletion = { readonly generation?: string; readonly isVersion?: boolean };

export function createObjectClient(
  { storage: endpoint, projectId }: Pick<Target, 'storage' | 'projectId'>,
  retryOptions = {},
): ObjectClient {
  // With a custom endpoint, the library does not look for credentials.
  const storage = openStorage({ projectId, retryOptions, ...(endpoint !== null && { apiEndpoint: endpoint }) });
  const fileOf = ({ bucket, name }: ObjectName) => storage.bucket(bucket).file(name);
  async function* open(object: ObjectName) {
    try {
      yield* readLive(fileOf(object));
    } catch (error) {
      throw toUserError(object, error);
    }
  }
  return {
    async listBuckets() {
      const list = repeat(storage, () => storage.getBuckets());
      const [buckets] = await withUserErrors({ bucket: '', name: '' }, list);
      return buckets.map(({ name }) => name);
    },
    async listFolder(folder, { includeVersions = false } = {}) {
      const query = { prefix: folderOf(folder.name), delimiter: '/', autoPaginate: true, versions: includeVersions };
      const list = () => storage.bucket(folder.bucket).getFiles(query);
      const [files, , response] = await withUserErrors(folder, repeat(storage, list));
      return { objects: files.map(describeFile), folders: readPrefixes(response) };
    },
    async find(target, { isRecursive, includeVersions = false }) {
      const { bucket, name } = target;
      const prefix = isPattern(name) ? literalPrefixOf(name) : name;
      const list = () => storage.bucket(bucket).getFiles({ prefix, versions: includeVersions });
      const [files] = await withUserErrors(target, repeat(storage, list));
      return files.map(describeFile).filter((object) => matchesName(object.name, name, isRecursive));
    },
    open,
    readText: (object) => unlessNotFound(text(open(object))),
    async write(object, body, { isNew = false } = {}) {
      try {
        await writeObject(fileOf(object), body, { ...(isNew && { ifGeneration: '0' }), metadata: {} });
        return 'written';
      } catch (error) {
        if (isNew && statusOf(error) === PRECONDITION_FAILED) {
          return 'exists';
        }
        throw toUserError(object, error);
      }
    },
    copy: (from, to) => withUserErrors(from, copyOnce(fileOf(from), fileOf(to))),
    delete: (object) => withUserErrors(object, deleteOnce(fileOf(object), object)),
  };
}

async function* readLive(file: File) {
  const [live] = await repeat(file.storage, () => file.getMetadata());
  const bytes = readObject(file, live);
  yield* live.contentEncoding === 'gzip' ? pipeline(bytes, createGunzip(), () => {}) : bytes;
}

async function copyOnce(from: File, to: File): Promise<void> {
  const [source] = await repeat(from.storage, () => from.getMetadata());
  const pinned = from.bucket.file(from.name, { generation: source.generation ?? '' });
  const send = (preconditionOpts: object) => pinned.copy(to, { preconditionOpts });
  await writeOnce(to, undefined, { send, sums: () => source });
}

async function deleteOnce(file: File, { generation, isVersion }: Deletion): Promise<void> {
  const pinned = generation ?? String((await repeat(file.storage, () => file.getMetadata()))[0].generation);
  const target = isVersion ? file.bucket.file(file.name, { generation: pinned }) : file;
  const query = isVersion ? {} : { ifGenerationMatch: pinned };
  // After a retry that generation is deleted, whether or not another one is live now.
  const recover = (error: unknown) => (isGone(error) ? Promise.resolve() : Promise.reject(error));
  await repeat<unknown>(file.storage, () => target.delete(query), recover);
}

function isGone(error: unknown): boolean {
  return [NOT_FOUND, PRECONDITION_FAILED].includes(statusOf(error) ?? 0);
}

/** With `isRecursive`, `model` matches `model/weights.json` but not `model2`. */
function matchesName(name: string, pattern: string, isRecursive: boolean): boolean {
  if (isPattern(pattern)) {
    return matchesPattern(name, pattern) || (isRecursive && matchesPattern(name, `${pattern}/**`));
  }
  return name === pattern || (isRecursive && name.startsWith(folderOf(pattern)));
}

function describeFile({ name, bucket, metadata }: File): StoredObject {
  return {
    bucket: bucket.name,
    name,
    sizeBytes: Number(metadata.size),
    updateTime: String(metadata.updated),
    generation: String(metadata.generation),
  };
}

/** The library types the raw response as unknown; its `prefixes` are the subfolders. */
function readPrefixes(response: unknown): readonly string[] {
  const isListing = typeof response === 'object' && response !== null && 'prefixes' in response;
  return isListing && Array.isArray(response.prefixes) ? response.prefixes.map(String) : [];
}

async function withUserErrors<T>(object: ObjectName, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toUserError(object, error);
  }
}

/** Converts known HTTP errors to a Failure; returns other errors unchanged. */
function toUserError(object: ObjectName, error: unknown): unknown {
  const uri = toGsUri(object);
  const code = statusOf(error);
  if (code === NOT_FOUND && /bucket/i.test(describeError(error))) {
    const create = `gcloud storage buckets create gs://${object.bucket}`;
    return new NotFound(
      `The bucket gs://${object.bucket} does not exist. To list the buckets, run \`${programName()} ls\`; to create it, \`${create}\` (of an embedded cloud, after \`eval "$(${programName()} env)"\`).`,
    );
  }
  if (code === NOT_FOUND) {
    return new NotFound(`${uri} does not exist. To list the buckets, run \`${programName()} ls\`.`);
  }
  if (code === 401) {
    return new Failure(`${uri} requires authentication: run \`gcloud auth application-default login\`.`);
  }
  if (code === 403) {
    return new Failure(`Permission denied on ${uri}: ask for a role such as roles/storage.objectUser on the bucket.`);
  }
  if (code === PRECONDITION_FAILED) {
    return new Failure(`${uri} was replaced at the same moment. Run the command again.`);
  }
  if (describeError(error).includes('ECONNREFUSED')) {
    return new Failure(`Cloud Storage is unreachable: ${embeddedRemedies().unreachable} (ECONNREFUSED).`);
  }
  return isTransient(error)
    ? new Failure(`Cloud Storage does not serve ${uri} (${describeError(error)}). Run the command again later.`)
    : error;
}

/** Lists the objects that the URIs match. Throws Failure if one of them matches none. */
export async function findObjects(
  client: ObjectClient,
  uris: readonly string[],
  options: { readonly isRecursive: boolean; readonly includeVersions?: boolean },
): Promise<readonly StoredObject[]> {
  const found: StoredObject[] = [];
  for (const uri of uris) {
    const objects = await client.find(readGsUri(uri), options);
    if (objects.length === 0) {
      const descendants = options.isRecursive
        ? []
        : await client.find(readGsUri(uri), { ...options, isRecursive: true });
      const isBucket = readGsUri(uri).name === '';
      const list = `\`${programName()} ls ${folderOf(uri)}\` lists it`;
      const below = isBucket ? '' : `; use -r, or the pattern ${folderOf(uri)}** for what is in it`;
      const hint = descendants.length > 0 ? ` It is a ${isBucket ? 'bucket' : 'folder'}: ${list}${below}.` : '';
      throw new Failure(`No object matches ${uri}.${hint || ` To list objects, run \`${programName()} ls\`.`}`);
    }
    found.push(...objects);
  }
  return found;
}
