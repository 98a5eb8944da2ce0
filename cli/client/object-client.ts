import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { File } from '@google-cloud/storage';
import type { Target } from '#cli/client/find-target.ts';
import {
  folderOf,
  formatGsUri,
  type GsUri,
  isPattern,
  literalPrefixOf,
  matchesPattern,
  parseGsUri,
} from '#cli/client/gs-uri.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';

export type StoredObject = GsUri & {
  readonly sizeBytes: number;
  readonly updateTime: string;
  readonly generation: string;
};

/** With `isWithVersions`, also what was replaced or deleted and is kept in a bucket with versioning. */
type Versions = { readonly isWithVersions?: boolean };

/** The buckets of a cloud, through Google's own library. What is missing is a failure with its address. */
export type ObjectClient = {
  listBuckets(): Promise<readonly string[]>;
  /** The objects and folders directly in a folder; a folder's name ends with a slash. */
  listFolder(
    folder: GsUri,
    options?: Versions,
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly folders: readonly string[] }>;
  /** Every object that an address means: itself, what its pattern matches, or with `isDeep` all below it. */
  find(address: GsUri, options: Versions & { readonly isDeep: boolean }): Promise<readonly StoredObject[]>;
  open(object: GsUri): Readable;
  /** The whole object as text; undefined when there is none. */
  readText(object: GsUri): Promise<string | undefined>;
  /** With `isNew`, answers `exists` and writes nothing when there is such an object already. */
  write(
    object: GsUri,
    body: Uint8Array | Readable,
    options?: { readonly isNew?: boolean },
  ): Promise<'written' | 'exists'>;
  copy(from: GsUri, to: GsUri): Promise<void>;
  /** The live object; with a generation that version for good. */
  delete(object: GsUri, generation?: string): Promise<void>;
};

export function createObjectClient({
  storage: endpoint,
  projectId,
}: Pick<Target, 'storage' | 'projectId'>): ObjectClient {
  // With an endpoint of its own the library asks nobody for credentials.
  const storage = openStorage({ projectId, ...(endpoint !== null && { apiEndpoint: endpoint }) });
  const fileOf = ({ bucket, name }: GsUri) => storage.bucket(bucket).file(name);
  return {
    async listBuckets() {
      const [buckets] = await storage.getBuckets();
      return buckets.map(({ name }) => name);
    },
    async listFolder(folder, { isWithVersions = false } = {}) {
      const query = { prefix: folderOf(folder.name), delimiter: '/', autoPaginate: true, versions: isWithVersions };
      const [files, , answer] = await explain(folder, storage.bucket(folder.bucket).getFiles(query));
      return { objects: files.map(describeFile), folders: readPrefixes(answer) };
    },
    async find(address, { isDeep, isWithVersions = false }) {
      const { bucket, name } = address;
      const prefix = isPattern(name) ? literalPrefixOf(name) : name;
      const [files] = await explain(address, storage.bucket(bucket).getFiles({ prefix, versions: isWithVersions }));
      return files.map(describeFile).filter((object) => isMeant(object.name, name, isDeep));
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
        throw explanationOf(object, error);
      }
    },
    async write(object, body, { isNew = false } = {}) {
      const sink = fileOf(object).createWriteStream({
        resumable: false,
        ...(isNew && { preconditionOpts: { ifGenerationMatch: 0 } }),
      });
      try {
        await explain(object, pipeline(body instanceof Uint8Array ? [body] : body, sink));
        return 'written';
      } catch (error) {
        if (isNew && codeOf(error) === 412) {
          return 'exists';
        }
        throw error;
      }
    },
    async copy(from, to) {
      await explain(from, fileOf(from).copy(fileOf(to)));
    },
    async delete(object, generation) {
      const file = storage.bucket(object.bucket).file(object.name, generation === undefined ? {} : { generation });
      await explain(object, file.delete());
    },
  };
}

/** With `isDeep`, `model` means `model/weights.json` too, but never `model2`. */
function isMeant(name: string, wanted: string, isDeep: boolean): boolean {
  if (isPattern(wanted)) {
    return matchesPattern(name, wanted) || (isDeep && matchesPattern(name, `${wanted}/**`));
  }
  return name === wanted || (isDeep && name.startsWith(folderOf(wanted)));
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

/** The library types the raw answer as unknown; its prefixes are what lies in deeper folders. */
function readPrefixes(answer: unknown): readonly string[] {
  const isListing = typeof answer === 'object' && answer !== null && 'prefixes' in answer;
  return isListing && Array.isArray(answer.prefixes) ? answer.prefixes.map(String) : [];
}

async function explain<T>(address: GsUri, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explanationOf(address, error);
  }
}

/** What went wrong in a user's words, where there are any. */
function explanationOf(address: GsUri, error: unknown): unknown {
  const uri = formatGsUri(address);
  const code = codeOf(error);
  if (code === 404) {
    return new Failure(`${uri} does not exist: \`${programName()} ls\` lists the buckets.`);
  }
  if (code === 401) {
    return new Failure(`${uri} asks who you are: run \`gcloud auth application-default login\`.`);
  }
  if (code === 403) {
    return new Failure(`You may not do this to ${uri}: ask for a role such as roles/storage.objectUser on the bucket.`);
  }
  return error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Every object that the addresses mean. Fails for one that means none, before anything is done to the others. */
export async function findObjects(
  client: ObjectClient,
  uris: readonly string[],
  options: { readonly isDeep: boolean; readonly isWithVersions?: boolean },
): Promise<readonly StoredObject[]> {
  const found: StoredObject[] = [];
  for (const uri of uris) {
    const objects = await client.find(parseGsUri(uri), options);
    if (objects.length === 0) {
      const below = options.isDeep ? [] : await client.find(parseGsUri(uri), { ...options, isDeep: true });
      const hint = below.length > 0 ? ' It is a folder: use -r, or a pattern such as FOLDER/**.' : '';
      throw new Failure(`There is no object ${uri}.${hint || ` \`${programName()} ls\` shows what there is.`}`);
    }
    found.push(...objects);
  }
  return found;
}
