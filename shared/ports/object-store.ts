import type { Readable } from 'node:stream';

export type ObjectName = { readonly bucket: string; readonly name: string };

/** An object's generation: what it was when it was written, for ever. int64 in decimal. */
export type ObjectInfo = ObjectName & {
  readonly generation: string;
  readonly sizeBytes: number;
  /** Base64 of the big-endian CRC32C. */
  readonly crc32c: string;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly updatedAt: number;
};

/** Half-open: from the first byte up to, and not with, `endByte`. */
export type ByteRange = { readonly startByte: number; readonly endByte: number };

/**
 * That we may not read an object, or may not learn whether it is there. Thrown: in the deployment's own buckets it is a
 * defect of its grants. Whoever was led to a bucket by a user catches it, and says whose leave is missing.
 */
export class AccessDeniedError extends Error {
  constructor({ bucket, name }: ObjectName) {
    super(`gs://${bucket}/${name} may not be read by this account: grant it roles/storage.objectViewer on ${bucket}.`);
  }
}

/** Files in buckets. Names are 1 to 1,024 bytes of UTF-8; a missing object or bucket is a value, not an exception. */
export type ObjectStore = {
  /** Undefined where there is no such object, or no such bucket. Throws an AccessDeniedError. */
  stat(object: ObjectName, generation?: string): Promise<ObjectInfo | undefined>;
  /** The object's bytes; with a generation, that one and no other. Undefined where it does not exist. */
  read(
    object: ObjectName,
    options?: { readonly generation?: string; readonly range?: ByteRange },
  ): Promise<Readable | undefined>;
  /**
   * With `ifGeneration` ('0' = must not exist yet), CONFLICT when another generation is there; nothing is written then.
   */
  write(
    object: ObjectName,
    body: Uint8Array | Readable,
    options?: {
      readonly contentType?: string;
      readonly metadata?: Readonly<Record<string, string>>;
      readonly ifGeneration?: string;
    },
  ): Promise<ObjectInfo | 'CONFLICT' | 'NO_BUCKET'>;
  /**
   * Live objects whose name begins with the prefix, in the order of their names, from the first one after `after`.
   * Fewer than `countMax` are all that there are. Throws where the bucket does not exist or may not be listed.
   */
  list(query: {
    readonly bucket: string;
    readonly prefix: string;
    readonly countMax: number;
    readonly after?: string;
  }): Promise<readonly ObjectInfo[]>;
  /** Whether the bucket exists and we may list its objects; false for a name that no bucket can have. */
  hasBucket(bucket: string): Promise<boolean>;
};
