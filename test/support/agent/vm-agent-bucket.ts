import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openObjectIndex } from '#infra/embedded/cloud-storage/store/object-index.ts';
import { DEFAULT_ATTRIBUTES, type StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';

export type ObjectWithBody = StoredObject & { readonly body: Buffer };

type Content = { readonly body: Buffer | string; readonly metadata?: Readonly<Record<string, string>> };

const PAGE_COUNT = 2;

/**
 * The embedded Cloud Storage with these buckets. Its lists have small pages. `objects` and `put` are synchronous, since
 * tests call them where they cannot wait: in conditions that are polled, and in answers to requests.
 */
export function createBucketServer(bucketNames: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'dropforge-bucket-'));
  const database = openDatabase(':memory:');
  const faults: string[] = [];
  const store = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
  const server = createCloudStorageServer(store, { reportError: (error) => void faults.push(String(error)) });
  const index = openObjectIndex(database);
  const blobOf = (blobId: string) => join(directory, 'blobs', blobId);
  for (const name of bucketNames) {
    store.createBucket(name);
  }

  /** The live object with this bucket and name: `jobs/digits/model`. */
  function get(path: string): ObjectWithBody | undefined {
    const found = index.find(splitPath(path));
    return found && { ...found.object, body: readFileSync(blobOf(found.blobId)) };
  }

  const keys = () =>
    bucketNames.flatMap((bucket) =>
      store.page({ bucket, prefix: '', countMax: 10_000 }).objects.map(({ name }) => `${bucket}/${name}`),
    );

  function put(bucket: string, name: string, { body, metadata = {} }: Content): StoredObject {
    const [bytes, blobId, live] = [Buffer.from(body), randomUUID(), index.find({ bucket, name })];
    writeFileSync(blobOf(blobId), bytes);
    if (live !== undefined) {
      index.retire(live.object, Date.now());
    }
    const sums = { crc32c: crc32cOf(bytes), md5: createHash('md5').update(bytes).digest('base64') };
    const object = { bucket, name, ...DEFAULT_ATTRIBUTES, metadata, sizeBytes: bytes.length, ...sums };
    return index.insert({ blobId, object: { ...object, componentCount: null } }, Date.now()).object;
  }

  return {
    answerStorage: (request: Request) => server.fetch(withSmallPages(request)),
    /** Internal errors of the server. */
    faults,
    put,
    objects: {
      get,
      keys,
      values: () => keys().flatMap((path) => get(path) ?? []),
      clear() {
        for (const object of keys().flatMap((path) => get(path) ?? [])) {
          index.retire(object, Date.now());
        }
      },
    },
    closeBuckets() {
      database.close();
      rmSync(directory, { recursive: true });
    },
  };
}

export function crc32cOf(bytes: Uint8Array): string {
  const bigEndian = Buffer.alloc(4);
  bigEndian.writeUInt32BE(crc32c(bytes));
  return bigEndian.toString('base64');
}

function splitPath(path: string) {
  const slash = path.indexOf('/');
  return { bucket: path.slice(0, slash), name: path.slice(slash + 1) };
}

function withSmallPages(request: Request): Request {
  const url = new URL(request.url);
  if (request.method !== 'GET' || !url.pathname.endsWith('/o')) {
    return request;
  }
  url.searchParams.set('maxResults', String(PAGE_COUNT));
  return new Request(url, request);
}
