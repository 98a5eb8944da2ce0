import { createHash, type Hash, randomUUID } from 'node:crypto';
import { closeSync, createReadStream, mkdirSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { assertChecksums, type Checksums } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import { crc32c } from '#infra/embedded/http/crc32c.ts';
import type { ByteRange } from '#shared/ports/object-store.ts';

/** Bytes that are complete, on disk and immutable. */
export type Blob = Checksums & { readonly blobId: string; readonly sizeBytes: number };

export type Bytes = AsyncIterable<Uint8Array | string>;

/** Bytes being received. After an error of `append` the blob must be staged again from what the file contains. */
export type StagedBlob = {
  readonly blobId: string;
  sizeBytes(): number;
  /** Appends the bytes. They are on disk when the promise settles, even if it is rejected. */
  append(body: Bytes): Promise<void>;
  /** Moves the file to the sealed blobs, or removes it and throws a ChecksumMismatchError if a checksum differs. */
  seal(...expected: readonly Partial<Checksums>[]): Promise<Blob>;
};

/** Reads up to this size are synchronous: that is faster than the round trip to the thread pool. */
const SMALL_READ_BYTES = 65_536;

/** Thrown for an object over the size limit. */
export class ObjectTooLargeError extends Error {
  constructor(bytesMax: number) {
    super(`The object is larger than the limit of ${bytesMax} bytes. Split it into smaller ones.`);
  }
}

export type BlobDirectory = ReturnType<typeof openBlobDirectory>;

/**
 * Files under opaque names: in `incoming/` while they are being written, in `blobs/` once they are complete. Only one
 * process at a time may have the directory open.
 */
export function openBlobDirectory(directory: string, bytesMax: number) {
  const incoming = join(directory, 'incoming');
  const blobs = join(directory, 'blobs');
  mkdirSync(incoming, { recursive: true });
  mkdirSync(blobs, { recursive: true });

  return {
    /** Starts a new file, or resumes an earlier one, possibly started by a process that has since crashed. */
    async stage(earlierId?: string): Promise<StagedBlob> {
      const blobId = earlierId ?? randomUUID();
      const path = join(incoming, blobId);
      const digest = earlierId === undefined ? createDigest() : await digestFile(path);
      return {
        blobId,
        sizeBytes: digest.sizeBytes,
        append: (body) => appendToFile({ path, digest, bytesMax }, body),
        seal: (...expected) => sealFile({ path, digest, blobId, blobs }, expected),
      };
    },
    discard: (blobId: string): Promise<void> => rm(join(incoming, blobId), { force: true }),
    /** Opens the file immediately, so that a later removal does not affect the reader. */
    read(blobId: string, { startByte, endByte }: ByteRange): Readable {
      if (startByte >= endByte) {
        return Readable.from([]);
      }
      const path = join(blobs, blobId);
      const fd = openSync(path, 'r');
      return endByte - startByte <= SMALL_READ_BYTES
        ? Readable.from([readSyncRange(fd, { startByte, endByte })])
        : createReadStream(path, { fd, start: startByte, end: endByte - 1 });
    },
    async remove(blobIds: readonly string[]): Promise<void> {
      await Promise.all(blobIds.map((blobId) => rm(join(blobs, blobId), { force: true })));
    },
    /** Removes files that a crash has orphaned: those without an upload session or an object. */
    sweep(isKnown: {
      readonly staged: (blobId: string) => boolean;
      readonly sealed: (blobId: string) => boolean;
    }): void {
      const orphans = [
        ...readdirSync(incoming)
          .filter((blobId) => !isKnown.staged(blobId))
          .map((blobId) => join(incoming, blobId)),
        ...readdirSync(blobs)
          .filter((blobId) => !isKnown.sealed(blobId))
          .map((blobId) => join(blobs, blobId)),
      ];
      for (const path of orphans) {
        rmSync(path);
      }
    },
  };
}

function readSyncRange(fd: number, { startByte, endByte }: ByteRange): Uint8Array {
  try {
    const bytes = Buffer.alloc(endByte - startByte);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, startByte));
  } finally {
    closeSync(fd);
  }
}

type Digest = ReturnType<typeof createDigest>;
type IncomingFile = { readonly path: string; readonly digest: Digest };

async function appendToFile({ path, digest, bytesMax }: IncomingFile & { readonly bytesMax: number }, body: Bytes) {
  const file = await open(path, 'a');
  try {
    for await (const chunk of body) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (digest.sizeBytes() + bytes.length > bytesMax) {
        throw new ObjectTooLargeError(bytesMax);
      }
      await file.appendFile(bytes);
      digest.update(bytes);
    }
  } finally {
    await file.datasync();
    await file.close();
  }
}

async function sealFile(
  { path, digest, blobId, blobs }: IncomingFile & { readonly blobId: string; readonly blobs: string },
  expected: readonly Partial<Checksums>[],
): Promise<Blob> {
  const checksums = digest.finish();
  try {
    for (const checksumsExpected of expected) {
      assertChecksums(checksums, checksumsExpected);
    }
  } catch (error) {
    await rm(path);
    throw error;
  }
  await rename(path, join(blobs, blobId));
  await syncDirectory(blobs);
  return { blobId, sizeBytes: digest.sizeBytes(), ...checksums };
}

/** Incremental CRC32C and MD5. */
function createDigest() {
  const md5: Hash = createHash('md5');
  let crc = 0;
  let sizeBytes = 0;
  return {
    sizeBytes: () => sizeBytes,
    update(bytes: Uint8Array): void {
      crc = crc32c(bytes, crc);
      md5.update(bytes);
      sizeBytes += bytes.length;
    },
    finish(): Checksums {
      const bigEndian = Buffer.alloc(4);
      bigEndian.writeUInt32BE(crc);
      return { crc32c: bigEndian.toString('base64'), md5: md5.digest('base64') };
    },
  };
}

async function digestFile(path: string) {
  const digest = createDigest();
  const file = await open(path, 'a+');
  try {
    for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) {
      digest.update(chunk as Buffer);
    }
  } finally {
    await file.close();
  }
  return digest;
}

/** A rename is durable only after its directory is synced (fsync(2)). */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
