import type { Readable } from 'node:stream';
import { describeDenial, PERIMETER_REMEDY, type PerimeterDenial } from '#shared/domain/perimeter-denial.ts';

/** `location`: `us-central1`, `nam4` or `us`. `regions` are those of a configurable dual-region. */
export type BucketLocation = { readonly location: string; readonly regions: readonly string[] };

export type ObjectName = { readonly bucket: string; readonly name: string };

/** One generation of an object, which is immutable. `generation` is an int64 in decimal. */
export type ObjectInfo = ObjectName & {
  readonly generation: string;
  readonly sizeBytes: number;
  /** Base64 of the big-endian CRC32C. */
  readonly crc32c: string;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly updatedAt: number;
};

/** Half-open: `endByte` is exclusive. */
export type ByteRange = { readonly startByte: number; readonly endByte: number };

/**
 * This account may not read the object, or may not learn whether it exists. For the deployment's own buckets this is a
 * defect of its grants. Callers catch it for buckets that a user named, and report which grant is missing.
 */
export class AccessDeniedError extends Error {
  constructor({ bucket, name }: ObjectName) {
    super(`This account may not read gs://${bucket}/${name}: grant it roles/storage.objectViewer on ${bucket}.`);
  }
}

/** A service perimeter denies the access, whatever roles the account has. */
export class PerimeterDeniedError extends AccessDeniedError {
  /** The request that was denied, without the remedy. */
  readonly summary: string;

  constructor(object: ObjectName, denial: PerimeterDenial) {
    super(object);
    this.summary = describeDenial(`the access to gs://${object.bucket}/${object.name}`, denial);
    this.message = `${this.summary} ${PERIMETER_REMEDY}`;
  }
}

/** Objects in buckets. Names are 1 to 1,024 bytes of UTF-8. A missing object or bucket is a value, not an exception. */
export type ObjectStore = {
  /** Returns undefined if the object or the bucket does not exist. Throws AccessDeniedError. */
  stat(object: ObjectName, generation?: string): Promise<ObjectInfo | undefined>;
  /** The bytes of the live generation, or of the given one; undefined if it does not exist. */
  read(
    object: ObjectName,
    options?: { readonly generation?: string; readonly range?: ByteRange },
  ): Promise<Readable | undefined>;
  /**
   * With `ifGeneration` ('0': must not exist), CONFLICT if the live generation differs, without writing. A stream is
   * opened again for each try.
   */
  write(
    object: ObjectName,
    body: Uint8Array | (() => Readable),
    options?: {
      readonly contentType?: string;
      readonly metadata?: Readonly<Record<string, string>>;
      readonly ifGeneration?: string;
    },
  ): Promise<ObjectInfo | 'CONFLICT' | 'NO_BUCKET'>;
  /**
   * Live objects whose name starts with the prefix, ordered by name, after `after`. Fewer than `countMax` objects mean
   * that there are no more. Throws if the bucket does not exist, and AccessDeniedError if it may not be listed.
   */
  list(query: {
    readonly bucket: string;
    readonly prefix: string;
    readonly countMax: number;
    readonly after?: string;
  }): Promise<readonly ObjectInfo[]>;
  /**
   * Whether the bucket exists and its objects may be listed; false for an invalid bucket name. Throws
   * PerimeterDeniedError.
   */
  hasBucket(bucket: string): Promise<boolean>;
  /**
   * Where a bucket is; null in the embedded cloud, whose buckets are on this machine. MISSING only if it certainly does
   * not exist. Throws AccessDeniedError.
   */
  locateBucket(bucket: string): Promise<BucketLocation | null | 'MISSING'>;
};
