import type { File, FileMetadata, Storage } from '@google-cloud/storage';
import { readObject } from '#infra/google-cloud/cloud-storage/read-object.ts';
import { repeat, statusOf } from '#infra/google-cloud/cloud-storage/retries.ts';
import { writeObject } from '#infra/google-cloud/cloud-storage/write-object.ts';
import { findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';
import {
  AccessDeniedError,
  type BucketLocation,
  type ObjectInfo,
  type ObjectName,
  type ObjectStore,
  PerimeterDeniedError,
} from '#shared/ports/object-store.ts';

const BAD_REQUEST = 400;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 412;

type ListQuery = Parameters<ObjectStore['list']>[0];

/**
 * Objects in Cloud Storage. Missing objects and generation conflicts are return values; all other errors are thrown,
 * transient ones after retries.
 */
export function createStorageObjectStore(storage: Storage): ObjectStore {
  const fileOf = ({ bucket, name }: ObjectName, generation?: string): File =>
    storage.bucket(bucket).file(name, generation === undefined ? {} : { generation });

  async function stat(object: ObjectName, generation?: string): Promise<ObjectInfo | undefined> {
    try {
      const [metadata] = await repeat(storage, () => fileOf(object, generation).getMetadata());
      return toInfo(object.bucket, metadata);
    } catch (error) {
      // 403 if the caller may not list the bucket, whether or not the object exists (docs, "HTTP status and error codes
      // for JSON").
      if (isMissing(error)) {
        return undefined;
      }
      throw toStoreError(error, object);
    }
  }

  async function hasBucket(bucket: string): Promise<boolean> {
    try {
      // Listing requires only permissions on objects; reading the bucket's metadata requires more.
      await repeat(storage, () => storage.bucket(bucket).getFiles({ maxResults: 1, autoPaginate: false }));
      return true;
    } catch (error) {
      const thrown = toStoreError(error, { bucket, name: '' });
      if (thrown instanceof PerimeterDeniedError) {
        throw thrown;
      }
      if (isMissing(error) || thrown instanceof AccessDeniedError) {
        return false;
      }
      throw error;
    }
  }

  return {
    stat,
    hasBucket,
    locateBucket: (bucket) => locateBucket(storage, bucket),
    list: (query) =>
      listPages(storage, query).catch((error: unknown) => {
        throw toStoreError(error, { bucket: query.bucket, name: query.prefix });
      }),
    async read(object, { generation, range } = {}) {
      // The stream reports a missing object too late.
      const info = await stat(object, generation);
      if (info === undefined) {
        return undefined;
      }
      return readObject(fileOf(object), { ...info, size: info.sizeBytes }, range);
    },
    async write(object, body, { contentType = 'application/octet-stream', metadata, ifGeneration } = {}) {
      const attributes = { contentType, ...(metadata && { metadata }) };
      try {
        const written = await writeObject(fileOf(object), body, { metadata: attributes, ifGeneration });
        return toInfo(object.bucket, written);
      } catch (error) {
        if (statusOf(error) === PRECONDITION_FAILED && ifGeneration !== undefined) {
          return 'CONFLICT';
        }
        if (statusOf(error) === NOT_FOUND) {
          return 'NO_BUCKET';
        }
        throw error;
      }
    },
  };
}

async function locateBucket(storage: Storage, bucket: string): Promise<BucketLocation | 'MISSING'> {
  try {
    const [{ location = '', customPlacementConfig }] = await repeat(storage, () =>
      storage.bucket(bucket).getMetadata(),
    );
    const regions = customPlacementConfig?.dataLocations ?? [];
    return { location: location.toLowerCase(), regions: regions.map((name) => name.toLowerCase()) };
  } catch (error) {
    // 400 is also the answer for a bucket whose requester pays.
    if (statusOf(error) === NOT_FOUND) {
      return 'MISSING';
    }
    throw toStoreError(error, { bucket, name: '' });
  }
}

/**
 * Cloud Storage returns at most 1,000 objects a page, and may return fewer: only a page without a token is the last.
 */
async function listPages(storage: Storage, { bucket, prefix, countMax, after }: ListQuery) {
  const found: ObjectInfo[] = [];
  let pageToken: string | undefined;
  do {
    const page = {
      prefix,
      autoPaginate: false,
      // The result includes `startOffset` itself.
      maxResults: after === undefined ? countMax : countMax + 1,
      ...(after !== undefined && { startOffset: after }),
      ...(pageToken !== undefined && { pageToken }),
    };
    const [files, next] = await repeat<[File[], { pageToken?: string } | null, unknown]>(storage, () =>
      storage.bucket(bucket).getFiles(page),
    );
    found.push(...files.filter(({ name }) => name !== after).map(({ metadata }) => toInfo(bucket, metadata)));
    pageToken = next?.pageToken;
  } while (pageToken !== undefined && found.length < countMax);
  return found.slice(0, countMax);
}

function toInfo(bucket: string, metadata: FileMetadata): ObjectInfo {
  const own = Object.entries(metadata.metadata ?? {}).map(([name, value]) => [name, String(value ?? '')] as const);
  return {
    bucket,
    name: String(metadata.name),
    generation: String(metadata.generation),
    sizeBytes: Number(metadata.size),
    crc32c: String(metadata.crc32c),
    contentType: String(metadata.contentType ?? 'application/octet-stream'),
    metadata: Object.fromEntries(own),
    updatedAt: Date.parse(String(metadata.updated)),
  };
}

/** Access is denied, by a perimeter or without one; other errors are returned unchanged. */
function toStoreError(error: unknown, object: ObjectName): unknown {
  if (statusOf(error) !== FORBIDDEN) {
    return error;
  }
  const denial = findPerimeterDenial(error instanceof Error ? error.message : JSON.stringify(error));
  return denial === null ? new AccessDeniedError(object) : new PerimeterDeniedError(object, denial);
}

/** No such object or bucket. Cloud Storage returns 400 for an invalid bucket name. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === NOT_FOUND || statusOf(error) === BAD_REQUEST;
}
