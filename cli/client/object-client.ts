import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { File } from '@google-cloud/storage';
import type { Target } from '#cli/client/find-target.ts';
import { folderOf, isPattern, literalPrefixOf, matchesPattern, readGsUri } from '#cli/client/gs-uri.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

export type StoredObject = ObjectName & {
  readonly sizeBytes: number;
  readonly updateTime: string;
  readonly generation: string;
};

/** `includeVersions`: also noncurrent versions (replaced or deleted objects that the bucket still keeps). */
type Versions = { readonly includeVersions?: boolean };

/** The buckets of a cloud, through Google's client library. Throws Failure with the URI for 401, 403 and 404. */
export type ObjectClient = {
  listBuckets(): Promise<readonly string[]>;
  /** Lists the direct children of a folder; folder names end with a slash. */
  listFolder(
    folder: ObjectName,
    options?: Versions,
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly folders: readonly string[] }>;
  /** Lists what a URI matches: the object itself, matches of a pattern, and with `isRecursive` everything below. */
  find(target: ObjectName, options: Versions & { readonly isRecursive: boolean }): Promise<readonly StoredObject[]>;
  open(object: ObjectName): Readable;
  /** Returns the object as text; undefined if it does not exist. */
  readText(object: ObjectName): Promise<string | undefined>;
  /** With `isNew`, returns `exists` without writing if the object already exists. */
  write(
    object: ObjectName,
    body: Uint8Array | Readable,
    options?: { readonly isNew?: boolean },
  ): Promise<'written' | 'exists'>;
  copy(from: ObjectName, to: ObjectName): Promise<void>;
  /** Deletes the live object or, with a generation, that version permanently. */
  delete(object: ObjectName, generation?: string): Promise<void>;
};

export function createObjectClient({
  storage: endpoint,
  projectId,
}: Pick<Target, 'storage' | 'projectId'>): ObjectClient {
  // With a custom endpoint, the library does not look for credentials.
  const storage = openStorage({ projectId, ...(endpoint !== null && { apiEndpoint: endpoint }) });
  const fileOf = ({ bucket, name }: ObjectName) => storage.bucket(bucket).file(name);
  return {
    async listBuckets() {
      const [buckets] = await storage.getBuckets();
      return buckets.map(({ name }) => name);
    },
    async listFolder(folder, { includeVersions = false } = {}) {
      const query = { prefix: folderOf(folder.name), delimiter: '/', autoPaginate: true, versions: includeVersions };
      const [files, , response] = await withUserErrors(folder, storage.bucket(folder.bucket).getFiles(query));
      return { objects: files.map(describeFile), folders: readPrefixes(response) };
    },
    async find(target, { isRecursive, includeVersions = false }) {
      const { bucket, name } = target;
      const prefix = isPattern(name) ? literalPrefixOf(name) : name;
      const [files] = await withUserErrors(
        target,
        storage.bucket(bucket).getFiles({ prefix, versions: includeVersions }),
      );
      return files.map(describeFile).filter((object) => matchesName(object.name, name, isRecursive));
    },
    open: (object) => fileOf(object).createReadStream(),
    async readText(object) {
      try {
        const [bytes] = await fileOf(object).download();
        return bytes.toString('utf8');
      } catch (error) {
        if (codeOf(error) === 404) {
          return undefined;
        }
        throw toUserError(object, error);
      }
    },
    async write(object, body, { isNew = false } = {}) {
      const sink = fileOf(object).createWriteStream({
        resumable: false,
        ...(isNew && { preconditionOpts: { ifGenerationMatch: 0 } }),
      });
      try {
        await withUserErrors(object, pipeline(body instanceof Uint8Array ? [body] : body, sink));
        return 'written';
      } catch (error) {
        if (isNew && codeOf(error) === 412) {
          return 'exists';
        }
        throw error;
      }
    },
    async copy(from, to) {
      await withUserErrors(from, fileOf(from).copy(fileOf(to)));
    },
    async delete(object, generation) {
      const file = storage.bucket(object.bucket).file(object.name, generation === undefined ? {} : { generation });
      await withUserErrors(object, file.delete());
    },
  };
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
  const code = codeOf(error);
  if (code === 404) {
    return new Failure(`${uri} does not exist. To list the buckets, run \`${programName()} ls\`.`);
  }
  if (code === 401) {
    return new Failure(`${uri} requires authentication: run \`gcloud auth application-default login\`.`);
  }
  if (code === 403) {
    return new Failure(`Permission denied on ${uri}: ask for a role such as roles/storage.objectUser on the bucket.`);
  }
  return error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
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
      const hint = descendants.length > 0 ? ' It is a folder: use -r or a pattern such as FOLDER/**.' : '';
      throw new Failure(`No object matches ${uri}.${hint || ` To list objects, run \`${programName()} ls\`.`}`);
    }
    found.push(...objects);
  }
  return found;
}
