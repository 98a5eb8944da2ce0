import type { ObjectInfo, ObjectName } from '#shared/ports/object-store.ts';
import { isBucketName } from '#shared/protocol/gs-uri.ts';

/**
 * The last three are legacy classes, returned as given. Source: https://cloud.google.com/storage/docs/storage-classes
 */
export const STORAGE_CLASSES = [
  'STANDARD',
  'NEARLINE',
  'COLDLINE',
  'ARCHIVE',
  'MULTI_REGIONAL',
  'REGIONAL',
  'DURABLE_REDUCED_AVAILABILITY',
] as const;

export type StorageClass = (typeof STORAGE_CLASSES)[number];

/** The writable attributes of an object; a patch changes only these. */
export type ObjectAttributes = {
  readonly contentType: string;
  readonly storageClass: StorageClass;
  readonly contentEncoding: string | null;
  readonly contentDisposition: string | null;
  readonly contentLanguage: string | null;
  readonly cacheControl: string | null;
  readonly customTime: string | null;
  readonly metadata: Readonly<Record<string, string>>;
};

export const DEFAULT_ATTRIBUTES: ObjectAttributes = {
  contentType: 'application/octet-stream',
  storageClass: 'STANDARD',
  contentEncoding: null,
  contentDisposition: null,
  contentLanguage: null,
  cacheControl: null,
  customTime: null,
  metadata: {},
};

export function attributesOf(attributes: ObjectAttributes): ObjectAttributes {
  const { contentType, storageClass, contentEncoding, contentDisposition, contentLanguage } = attributes;
  const { cacheControl, customTime, metadata } = attributes;
  const languageAndCache = { contentLanguage, cacheControl, customTime };
  return { contentType, storageClass, contentEncoding, contentDisposition, ...languageAndCache, metadata };
}

/** Base64 digests of an object's bytes; composed objects have no MD5, as in Cloud Storage. */
export type Checksums = { readonly crc32c: string; readonly md5: string | null };

export type StoredObject = ObjectInfo &
  ObjectAttributes &
  Checksums & {
    /** Starts at 1 and increases with each change to the attributes of this generation. */
    readonly metageneration: number;
    readonly createdAt: number;
    /** When the object was overwritten or deleted; null for the live object. */
    readonly noncurrentAt: number | null;
    /** The number of uploads that a composed object consists of; null for other objects. */
    readonly componentCount: number | null;
  };

export type StoredBucket = { readonly name: string; readonly createdAt: number };

/**
 * Conditions on the current object; all that are given must hold. Generations and metagenerations are int64 in decimal;
 * the generation '0' means that there is no live object.
 * Source: https://cloud.google.com/storage/docs/request-preconditions
 */
export type Preconditions = {
  readonly ifGenerationMatch?: string | undefined;
  readonly ifGenerationNotMatch?: string | undefined;
  readonly ifMetagenerationMatch?: string | undefined;
  readonly ifMetagenerationNotMatch?: string | undefined;
};

/** The bytes received do not match the expected checksums; nothing was stored. */
export class ChecksumMismatchError extends Error {}

export function assertChecksums(actual: Checksums, expected: Partial<Checksums>): void {
  const { crc32c = actual.crc32c, md5 = actual.md5 } = expected;
  if (crc32c !== actual.crc32c) {
    throw new ChecksumMismatchError(
      `The CRC32C in the request is ${crc32c}, but the bytes received have ${actual.crc32c}. Send them again.`,
    );
  }
  if (md5 !== actual.md5) {
    throw new ChecksumMismatchError(
      `The MD5 in the request is ${md5}, but the bytes received have ${actual.md5}. Send them again.`,
    );
  }
}

/** The first precondition that does not hold; undefined if all hold. */
export function findFailedPrecondition(
  object: StoredObject | undefined,
  preconditions: Preconditions,
): keyof Preconditions | undefined {
  const generation = object?.generation ?? '0';
  const metageneration = object === undefined ? undefined : String(object.metageneration);
  const { ifGenerationMatch, ifGenerationNotMatch, ifMetagenerationMatch, ifMetagenerationNotMatch } = preconditions;
  if (ifGenerationMatch !== undefined && ifGenerationMatch !== generation) {
    return 'ifGenerationMatch';
  }
  if (ifGenerationNotMatch !== undefined && ifGenerationNotMatch === generation) {
    return 'ifGenerationNotMatch';
  }
  if (ifMetagenerationMatch !== undefined && ifMetagenerationMatch !== metageneration) {
    return 'ifMetagenerationMatch';
  }
  if (ifMetagenerationNotMatch !== undefined && ifMetagenerationNotMatch === metageneration) {
    return 'ifMetagenerationNotMatch';
  }
  return undefined;
}

const OBJECT_NAME_BYTES_MAX = 1_024;

/**
 * Why Cloud Storage rejects this object name; undefined if the name is valid.
 * Source: https://cloud.google.com/storage/docs/objects#naming
 */
export function findObjectNameProblem({ name }: Pick<ObjectName, 'name'>): string | undefined {
  const sizeBytes = Buffer.byteLength(name);
  if (sizeBytes === 0 || sizeBytes > OBJECT_NAME_BYTES_MAX) {
    return `The object name has ${sizeBytes} bytes of UTF-8. Use 1 to ${OBJECT_NAME_BYTES_MAX}.`;
  }
  if (!name.isWellFormed() || /[\r\n\0]/.test(name)) {
    return `The object name ${JSON.stringify(name)} contains a line break, a NUL or invalid Unicode. Choose another name.`;
  }
  if (name === '.' || name === '..' || name.startsWith('.well-known/acme-challenge/')) {
    return `The object name ${JSON.stringify(name)} is reserved. Choose another.`;
  }
  return undefined;
}

/**
 * Why this bucket name is invalid; undefined if it is valid.
 * Source: https://cloud.google.com/storage/docs/buckets#naming
 */
export function findBucketNameProblem(name: string): string | undefined {
  return isBucketName(name)
    ? undefined
    : `The bucket name ${JSON.stringify(name)} is not valid. Use 3 to 63 lowercase letters, digits, dashes or underscores.`;
}
