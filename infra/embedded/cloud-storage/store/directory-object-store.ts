import { Readable } from 'node:stream';
import {
  type BlobDirectory,
  type Bytes,
  openBlobDirectory,
} from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import {
  findWriteRefusal,
  type ObjectChanges,
  openObjectChanges,
  type WriteRefusal,
} from '#infra/embedded/cloud-storage/store/object-changes.ts';
import {
  type IndexedObject,
  type ObjectIndex,
  openObjectIndex,
} from '#infra/embedded/cloud-storage/store/object-index.ts';
import { type ListPage, type ListQuery, listPage } from '#infra/embedded/cloud-storage/store/object-listing.ts';
import {
  attributesOf,
  type Checksums,
  DEFAULT_ATTRIBUTES,
  findBucketNameProblem,
  findFailedPrecondition,
  findObjectNameProblem,
  type ObjectAttributes,
  type Preconditions,
  type StoredBucket,
  type StoredObject,
} from '#infra/embedded/cloud-storage/store/stored-object.ts';
import {
  openUploadSessions,
  openUploadSessionTable,
  type UploadSessions,
} from '#infra/embedded/cloud-storage/store/upload-sessions.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { ByteRange, ObjectInfo, ObjectName, ObjectStore } from '#shared/ports/object-store.ts';

/** 5 TiB. Source: https://cloud.google.com/storage/quotas#objects */
export const OBJECT_BYTES_MAX = 5 * 1024 ** 4;

export type DirectoryObjectStoreOptions = {
  readonly database: Database;
  /** Where the bytes lie; made when it is not there. One process at a time. */
  readonly directory: string;
  readonly clock: Clock;
  /** Called inside the transaction that makes the object visible: what it enqueues is there exactly when the object is. */
  readonly onFinalized: (info: ObjectInfo) => void;
  readonly objectBytesMax?: number;
};

export type PutOptions = {
  readonly attributes?: Partial<ObjectAttributes>;
  readonly preconditions?: Preconditions;
  /** What the client says it sends; with other bytes nothing is stored. */
  readonly expected?: Partial<Checksums>;
};

export type SourceObject = ObjectName & {
  readonly generation?: string | undefined;
  readonly preconditions?: Preconditions;
};

/** The store of the pipeline, and what Google's storage door needs besides. */
export type EmbeddedObjectStore = ObjectStore &
  Pick<ObjectChanges, 'move' | 'patch' | 'remove'> & {
    readonly uploads: UploadSessions;
    find(object: ObjectName, generation?: string): StoredObject | undefined;
    /** Throws an ObjectTooLargeError or a ChecksumMismatchError; nothing is stored then. */
    put(target: ObjectName, body: Bytes, options?: PutOptions): Promise<StoredObject | WriteRefusal>;
    /** Costs no bytes: a copy shares the blob. Attributes that are not given are the source's. */
    copy(
      source: SourceObject,
      target: ObjectName,
      options?: PutOptions,
    ): Promise<StoredObject | WriteRefusal | 'NO_OBJECT'>;
    /** One object of the bytes of 1 to 32 others of the same bucket. */
    compose(
      sources: readonly SourceObject[],
      target: ObjectName,
      options?: PutOptions,
    ): Promise<StoredObject | WriteRefusal | 'NO_OBJECT'>;
    page(query: ListQuery): ListPage;
    /** Bytes on disk of all buckets, and those of them that only noncurrent generations hold. */
    measure(): { readonly sizeBytes: number; readonly noncurrentBytes: number };
    createBucket(name: string): 'CREATED' | 'EXISTS';
    findBucket(name: string): StoredBucket | undefined;
    listBuckets(): readonly StoredBucket[];
    deleteBucket(name: string): Promise<'DELETED' | 'NO_BUCKET' | 'NOT_EMPTY'>;
  };

/** Objects as files in a directory, with their index in SQLite. What a crash has left half done is removed here. */
export function openDirectoryObjectStore(options: DirectoryObjectStoreOptions): EmbeddedObjectStore {
  const { database, clock } = options;
  const index = openObjectIndex(database);
  const blobs = openBlobDirectory(options.directory, options.objectBytesMax ?? OBJECT_BYTES_MAX);
  const changes = openObjectChanges({ database, index, blobs, clock, onFinalized: options.onFinalized });
  const table = openUploadSessionTable(database, clock);
  blobs.sweep({ staged: (blobId) => table.find(blobId)?.finishedGeneration === null, sealed: index.isReferenced });
  const context = { index, blobs, changes };
  return {
    ...openPort(context),
    ...openBuckets(context, options),
    copy: (source, target, copyOptions) => copyObject(context, { source, target, ...copyOptions }),
    compose: (sources, target, composeOptions) => composeObject(context, { sources, target, ...composeOptions }),
    move: changes.move,
    patch: changes.patch,
    remove: changes.remove,
    uploads: openUploadSessions({ ...context, table }),
    find: (object, generation) => index.find(object, generation)?.object,
    put: (target, bytes, putOptions) => put(context, target, { ...putOptions, bytes }),
    page: (query) => listPage(index, query),
    measure: index.measure,
  };
}

type Context = { readonly index: ObjectIndex; readonly blobs: BlobDirectory; readonly changes: ObjectChanges };

function openPort(context: Context): ObjectStore {
  const { index } = context;
  return {
    stat: async (object, generation) => index.find(object, generation)?.object,
    async read(object, { generation, range } = {}) {
      const found = index.find(object, generation);
      return found === undefined ? undefined : readBlob(context, found, range);
    },
    write: (target, body, { ifGeneration, contentType, metadata } = {}) => {
      const attributes = {
        contentType: contentType ?? DEFAULT_ATTRIBUTES.contentType,
        metadata: metadata ?? DEFAULT_ATTRIBUTES.metadata,
      };
      const bytes = body instanceof Uint8Array ? Readable.from([body]) : body;
      return put(context, target, { bytes, attributes, preconditions: { ifGenerationMatch: ifGeneration } });
    },
    list: async ({ bucket, prefix, countMax, after }) => {
      const position = after === undefined ? undefined : { name: after, generation: Number.MAX_SAFE_INTEGER };
      return listPage(index, { bucket, prefix, countMax, after: position }).objects;
    },
    hasBucket: async (bucket) => index.findBucket(bucket) !== undefined,
  };
}

async function put(
  { index, blobs, changes }: Context,
  target: ObjectName,
  upload: PutOptions & { readonly bytes: Bytes },
) {
  const { bytes, attributes, preconditions = {}, expected = {} } = upload;
  assertName(findObjectNameProblem(target));
  // Asked again at the commit, which decides; here it saves the way of bytes that would be thrown away.
  const refusal = findWriteRefusal(index, target, preconditions);
  if (refusal !== undefined) {
    return refusal;
  }
  const staged = await blobs.stage();
  try {
    await staged.append(bytes);
    const blob = await staged.seal(expected);
    return await changes.commit({
      target,
      blob,
      attributes: { ...DEFAULT_ATTRIBUTES, ...attributes },
      preconditions,
      componentCount: null,
    });
  } finally {
    await blobs.discard(staged.blobId);
  }
}

async function copyObject(
  { index, changes }: Context,
  copy: PutOptions & { readonly source: SourceObject; readonly target: ObjectName },
) {
  const { source, target, attributes, preconditions = {} } = copy;
  assertName(findObjectNameProblem(target));
  const found = index.find(source, source.generation);
  if (found === undefined) {
    return 'NO_OBJECT';
  }
  if (findFailedPrecondition(found.object, source.preconditions ?? {}) !== undefined) {
    return 'CONFLICT';
  }
  const { blobId, object } = found;
  const { sizeBytes, crc32c, md5, componentCount } = object;
  return changes.commit({
    target,
    blob: { blobId, sizeBytes, crc32c, md5 },
    attributes: { ...attributesOf(object), ...attributes },
    preconditions,
    componentCount,
  });
}

type Composition = PutOptions & { readonly sources: readonly SourceObject[]; readonly target: ObjectName };

async function composeObject(context: Context, { sources, target, attributes, preconditions = {} }: Composition) {
  const { index, blobs, changes } = context;
  assertName(findObjectNameProblem(target));
  const found: IndexedObject[] = [];
  for (const source of sources) {
    const component = index.find(source, source.generation);
    if (component === undefined) {
      return 'NO_OBJECT';
    }
    if (findFailedPrecondition(component.object, source.preconditions ?? {}) !== undefined) {
      return 'CONFLICT';
    }
    found.push(component);
  }
  const staged = await blobs.stage();
  try {
    for (const component of found) {
      await staged.append(readBlob(context, component));
    }
    const blob = await staged.seal();
    return await changes.commit({
      target,
      blob: { ...blob, md5: null },
      attributes: { ...DEFAULT_ATTRIBUTES, ...attributes },
      preconditions,
      componentCount: found.reduce((count, { object }) => count + (object.componentCount ?? 1), 0),
    });
  } finally {
    await blobs.discard(staged.blobId);
  }
}

function readBlob({ blobs }: Context, { object, blobId }: IndexedObject, range?: ByteRange): Readable {
  const { startByte = 0, endByte = object.sizeBytes } = range ?? {};
  return blobs.read(blobId, { startByte, endByte: Math.min(endByte, object.sizeBytes) });
}

function openBuckets({ index, changes }: Context, { database, clock }: DirectoryObjectStoreOptions) {
  return {
    createBucket(name: string) {
      assertName(findBucketNameProblem(name));
      return index.insertBucket(name, clock.now()) ? ('CREATED' as const) : ('EXISTS' as const);
    },
    findBucket: index.findBucket,
    listBuckets: index.listBuckets,
    async deleteBucket(name: string) {
      if (index.findBucket(name) === undefined) {
        return 'NO_BUCKET' as const;
      }
      if (index.hasLiveObjects(name)) {
        return 'NOT_EMPTY' as const;
      }
      await changes.removeUnreferenced(database.transaction(() => index.deleteBucket(name)));
      return 'DELETED' as const;
    },
  };
}

function assertName(problem: string | undefined): void {
  if (problem !== undefined) {
    throw new TypeError(problem);
  }
}
