import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { File, FileMetadata, Storage } from '@google-cloud/storage';
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
type WriteOptions = NonNullable<Parameters<ObjectStore['write']>[2]>;

/**
 * Objects in Cloud Storage. Missing objects and generation conflicts are return values; all other errors are thrown.
 */
export function createStorageObjectStore(storage: Storage): ObjectStore {
  const fileOf = ({ bucket, name }: ObjectName, generation?: string): File =>
    storage.bucket(bucket).file(name, generation === undefined ? {} : { generation });

  async function stat(object: ObjectName, generation?: string): Promise<ObjectInfo | undefined> {
    try {
      const [metadata] = await fileOf(object, generation).getMetadata();
      return toInfo(object.bucket, metadata);
    } catch (error) {
      // 403 if the caller may not list the bucket, whether or not the object exists (docs, "HTTP status and error codes
      // for JSON").
      if (statusOf(error) === FORBIDDEN) {
        throw deniedError(error, object);
      }
      if (isMissing(error)) {
        return undefined;
      }
      throw error;
    }
  }

  async function hasBucket(bucket: string): Promise<boolean> {
    try {
      // Listing requires only permissions on objects; reading the bucket's metadata requires more.
      await storage.bucket(bucket).getFiles({ maxResults: 1, autoPaginate: false });
      return true;
    } catch (error) {
      const denied = statusOf(error) === FORBIDDEN ? deniedError(error, { bucket, name: '' }) : undefined;
      if (denied instanceof PerimeterDeniedError) {
        throw denied;
      }
      if (isMissing(error) || denied !== undefined) {
        return false;
      }
      throw error;
    }
  }

  return {
    stat,
    hasBucket,
    locateBucket: (bucket) => locateBucket(storage, bucket),
    list: (query) => list(storage, query),
    async read(object, { generation, range } = {}) {
      // The stream reports a missing object too late. The generation pins the read against a concurrent overwrite.
      const info = await stat(object, generation);
      if (info === undefined) {
        return undefined;
      }
      const span = range && { start: range.startByte, end: Math.min(range.endByte, info.sizeBytes) - 1 };
      return fileOf(object, info.generation).createReadStream({ decompress: false, ...span });
    },
    async write(object, body, options = {}) {
      const file = fileOf(object);
      try {
        await pipeline(body instanceof Uint8Array ? Readable.from([body]) : body, openForWriting(file, body, options));
      } catch (error) {
        if (statusOf(error) === PRECONDITION_FAILED) {
          return 'CONFLICT';
        }
        if (statusOf(error) === NOT_FOUND) {
          return 'NO_BUCKET';
        }
        throw error;
      }
      return toInfo(object.bucket, file.metadata);
    },
  };
}

async function locateBucket(storage: Storage, bucket: string): Promise<BucketLocation | 'MISSING'> {
  try {
    const [{ location = '', customPlacementConfig }] = await storage.bucket(bucket).getMetadata();
    const regions = customPlacementConfig?.dataLocations ?? [];
    return { location: location.toLowerCase(), regions: regions.map((name) => name.toLowerCase()) };
  } catch (error) {
    // 400 is also the answer for a bucket whose requester pays.
    if (statusOf(error) === NOT_FOUND) {
      return 'MISSING';
    }
    throw statusOf(error) === FORBIDDEN ? deniedError(error, { bucket, name: '' }) : error;
  }
}

async function list(storage: Storage, query: ListQuery) {
  try {
    return await listPages(storage, query);
  } catch (error) {
    if (statusOf(error) === FORBIDDEN) {
      throw deniedError(error, { bucket: query.bucket, name: query.prefix });
    }
    throw error;
  }
}

/**
 * Cloud Storage returns at most 1,000 objects a page, and may return fewer: only a page without a token is the last.
 */
async function listPages(storage: Storage, { bucket, prefix, countMax, after }: ListQuery) {
  const found: ObjectInfo[] = [];
  let pageToken: string | undefined;
  do {
    const [files, next]: [File[], { pageToken?: string } | null, unknown] = await storage.bucket(bucket).getFiles({
      prefix,
      autoPaginate: false,
      // The result includes `startOffset` itself.
      maxResults: after === undefined ? countMax : countMax + 1,
      ...(after !== undefined && { startOffset: after }),
      ...(pageToken !== undefined && { pageToken }),
    });
    found.push(...files.filter(({ name }) => name !== after).map(({ metadata }) => toInfo(bucket, metadata)));
    pageToken = next?.pageToken;
  } while (pageToken !== undefined && found.length < countMax);
  return found.slice(0, countMax);
}

/** One request for bytes in memory, a resumable upload for a stream. */
function openForWriting(
  file: File,
  body: Uint8Array | Readable,
  { contentType, metadata, ifGeneration }: WriteOptions,
) {
  return file.createWriteStream({
    resumable: !(body instanceof Uint8Array),
    validation: 'crc32c',
    metadata: { contentType: contentType ?? 'application/octet-stream', ...(metadata && { metadata }) },
    ...(ifGeneration !== undefined && { preconditionOpts: { ifGenerationMatch: ifGeneration } }),
  });
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

function deniedError(error: unknown, object: ObjectName): AccessDeniedError {
  const denial = findPerimeterDenial(error instanceof Error ? error.message : JSON.stringify(error));
  return denial === null ? new AccessDeniedError(object) : new PerimeterDeniedError(object, denial);
}

/** No such object or bucket. Cloud Storage returns 400 for an invalid bucket name. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === NOT_FOUND || statusOf(error) === BAD_REQUEST;
}

/**
 * The HTTP status. Requests throw the library's or its HTTP client's error; resumable uploads throw the response body.
 */
function statusOf(error: unknown): number | undefined {
  const { code, status } = Object(error) as { readonly code?: unknown; readonly status?: unknown };
  return [code, status].map(Number).find((number) => number >= 400 && number < 600);
}
