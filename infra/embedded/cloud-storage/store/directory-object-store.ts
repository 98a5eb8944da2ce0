import { Readable } from 'node:stream';
import {
  type BlobDirectory,
  type Bytes,
  openBlobDirectory,
} from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import {
  findWriteRejection,
  type ObjectChanges,
  openObjectChanges,
  type WriteRejection,
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
import type { ByteRange, ObjectName, ObjectStore } from '#shared/ports/object-store.ts';

/** 5 TiB. Source: https://cloud.google.com/storage/quotas#objects */
const OBJECT_BYTES_MAX = 5 * 1024 ** 4;

/** Where the count saturates. Source: https://cloud.google.com/storage/docs/composite-objects */
const COMPONENT_COUNT_MAX = 2 ** 31 - 1;

export type DirectoryObjectStoreOptions = {
  readonly database: Database;
  /** Directory of the blobs; created if missing. Only one process at a time may use it. */
  readonly directory: string;
  readonly clock: Clock;
  /** Called in the transaction that makes the object visible: messages it enqueues are committed with the object. */
  readonly onFinalized: (object: StoredObject) => void;
  readonly objectBytesMax?: number;
};

export type PutOptions = {
  readonly attributes?: Partial<ObjectAttributes>;
  readonly preconditions?: Preconditions;
  /** The checksums that the client sent; if the bytes differ, nothing is stored. */
  readonly expected?: Partial<Checksums>;
};

export type ComposeOptions = PutOptions & {
  /** Permanently deletes the generations of the sources with the commit of the composed object. */
  readonly deletesSources?: boolean;
};

export type SourceObject = ObjectName & {
  readonly generation?: string | undefined;
  readonly preconditions?: Preconditions;
};

/** The pipeline's store, plus what the Cloud Storage emulator needs. */
export type EmbeddedObjectStore = ObjectStore &
  Pick<ObjectChanges, 'patch' | 'remove'> & {
    readonly uploads: UploadSessions;
    find(object: ObjectName, generation?: string): StoredObject | undefined;
    /** Throws an ObjectTooLargeError or a ChecksumMismatchError; in that case nothing is stored. */
    put(target: ObjectName, body: Bytes, options?: PutOptions): Promise<StoredObject | WriteRejection>;
    /** Copies no bytes: the copy shares the blob. Attributes default to those of the source. */
    copy(
      source: SourceObject,
      target: ObjectName,
      options?: PutOptions,
    ): Promise<StoredObject | WriteRejection | 'NO_OBJECT'>;
    /** Copies the live object to another name and makes it noncurrent, in one transaction. */
    move: EmbeddedObjectStore['copy'];
    /** Concatenates 1 to 32 objects of the same bucket into one. */
    compose(
      sources: readonly SourceObject[],
      target: ObjectName,
      options?: ComposeOptions,
    ): Promise<StoredObject | WriteRejection | 'NO_OBJECT'>;
    page(query: ListQuery): ListPage;
    /** Bytes on disk of all buckets, and how many of them only noncurrent generations use. */
    measure(): { readonly sizeBytes: number; readonly noncurrentBytes: number };
    createBucket(name: string): 'CREATED' | 'EXISTS';
    findBucket(name: string): StoredBucket | undefined;
    listBuckets(): readonly StoredBucket[];
    deleteBucket(name: string): Promise<'DELETED' | 'NO_BUCKET' | 'NOT_EMPTY'>;
  };

/** Objects as files in a directory, with their index in SQLite. Opening removes files that a crash has orphaned. */
export function openDirectoryObjectStore(options: DirectoryObjectStoreOptions): EmbeddedObjectStore {
  const { database, clock } = options;
  const index = openObjectIndex(database);
  const blobs = openBlobDirectory(options.directory, options.objectBytesMax ?? OBJECT_BYTES_MAX);
  const changes = openObjectChanges({ database, index, blobs, clock, onFinalized: options.onFinalized });
  const table = openUploadSessionTable(database, clock);
  blobs.sweep({ staged: (blobId) => table.find(blobId)?.finishedGeneration === null, sealed: index.isReferenced });
  const context = { index, blobs, changes };
  return {
    ...openStorePort(context),
    ...openBuckets(context, options),
    copy: (source, target, copyOptions) => copyObject(context, { source, target, ...copyOptions }),
    compose: (sources, target, composeOptions) => composeObject(context, { sources, target, ...composeOptions }),
    move: (source, target, moveOptions) => moveObject(context, { source, target, ...moveOptions }),
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

function openStorePort(context: Context): ObjectStore {
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
      const bytes = body instanceof Uint8Array ? Readable.from([body]) : body();
      return put(context, target, { bytes, attributes, preconditions: { ifGenerationMatch: ifGeneration } });
    },
    list: async ({ bucket, prefix, countMax, after }) => {
      const position = after === undefined ? undefined : { name: after, generation: Number.MAX_SAFE_INTEGER };
      return listPage(index, { bucket, prefix, countMax, after: position }).objects;
    },
    hasBucket: async (bucket) => index.findBucket(bucket) !== undefined,
    locateBucket: async (bucket) => (index.findBucket(bucket) === undefined ? 'MISSING' : null),
  };
}

async function put(
  { index, blobs, changes }: Context,
  target: ObjectName,
  upload: PutOptions & { readonly bytes: Bytes },
) {
  const { bytes, attributes, preconditions = {}, expected = {} } = upload;
  assertName(findObjectNameProblem(target));
  // Checked again by the commit, which is authoritative; this early check avoids writing bytes that would be discarded.
  const rejection = findWriteRejection(index, target, preconditions);
  if (rejection !== undefined) {
    return rejection;
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

type Copy = PutOptions & { readonly source: SourceObject; readonly target: ObjectName };

async function moveObject(context: Context, move: Copy) {
  const freed: string[] = [];
  const outcome = await copyObject(context, move, (object) => void freed.push(...context.changes.retire(object)));
  await context.changes.removeUnreferenced(freed);
  return outcome;
}

/** `afterCopy` gets the source, in the transaction of the copy. */
async function copyObject(
  { index, changes }: Context,
  copy: Copy,
  afterCopy: (source: StoredObject) => void = () => {},
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
  const change = {
    target,
    blob: { blobId, sizeBytes, crc32c, md5 },
    attributes: { ...attributesOf(object), ...attributes },
    preconditions,
    componentCount,
  };
  return changes.commit(change, (outcome) => {
    if (typeof outcome !== 'string') {
      afterCopy(object);
    }
  });
}

type Composition = ComposeOptions & { readonly sources: readonly SourceObject[]; readonly target: ObjectName };

async function composeObject(context: Context, composition: Composition) {
  const { index, blobs, changes } = context;
  const { sources, target, attributes, preconditions = {}, deletesSources = false } = composition;
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
  const rejection = findWriteRejection(index, target, preconditions);
  if (rejection !== undefined) {
    return rejection;
  }
  const componentCount = found.reduce((count, { object }) => count + (object.componentCount ?? 1), 0);
  const freed: string[] = [];
  const staged = await blobs.stage();
  try {
    for (const component of found) {
      await staged.append(readBlob(context, component));
    }
    const change = {
      target,
      blob: { ...(await staged.seal()), md5: null },
      attributes: { ...DEFAULT_ATTRIBUTES, ...attributes },
      preconditions,
      componentCount: Math.min(componentCount, COMPONENT_COUNT_MAX),
    };
    return await changes.commit(change, (outcome) => {
      if (deletesSources && typeof outcome !== 'string') {
        freed.push(...found.flatMap(({ object }) => index.delete(object)));
      }
    });
  } finally {
    await blobs.discard(staged.blobId);
    await changes.removeUnreferenced(freed);
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
