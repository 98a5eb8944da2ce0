import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CRC32C, type File, type FileMetadata } from '@google-cloud/storage';
import { repeat, statusOf } from '#infra/google-cloud/cloud-storage/retries.ts';

/** Two generations with the same sums have the same bytes. */
type Sums = Pick<FileMetadata, 'crc32c' | 'size'>;

/** Writes bytes, or those of a stream that is opened again for each try, once (see `writeOnce`). */
export function writeObject(
  file: File,
  body: Uint8Array | (() => Readable),
  { ifGeneration, metadata }: { readonly ifGeneration?: string | undefined; readonly metadata: FileMetadata },
): Promise<FileMetadata> {
  let sent: Sums = {};
  async function* readBody() {
    const crc32c = new CRC32C();
    let size = 0;
    for await (const piece of body instanceof Uint8Array ? [Buffer.from(body)] : (body() as AsyncIterable<Buffer>)) {
      crc32c.update(piece);
      size += piece.length;
      yield piece;
    }
    sent = { crc32c: String(crc32c), size };
  }
  // One request for bytes in memory, a resumable upload for a stream: one that breaks off leaves no request open.
  const options = { resumable: !(body instanceof Uint8Array), validation: 'crc32c', metadata };
  return writeOnce(file, ifGeneration, {
    send: (preconditionOpts) => pipeline(readBody, file.createWriteStream({ ...options, preconditionOpts })),
    sums: () => sent,
  });
}

type Sending = {
  send(preconditions: { readonly ifGenerationMatch: string }): Promise<unknown>;
  /** Returns the sums of the bytes that a complete try has sent. */
  sums(): Sums;
};

/**
 * Creates one generation, however many tries that takes: if the answer to one is lost, the next one does not meet the
 * precondition, and what is stored has the same sums. Without `ifGeneration`, an object is replaced whatever its
 * generation is now. Throws an error with status 412 for a generation of another writer.
 */
export async function writeOnce(file: File, ifGeneration: string | undefined, { send, sums }: Sending) {
  const ifGenerationMatch = ifGeneration ?? String((await find(file))?.generation ?? '0');
  const write = async () => {
    await send({ ifGenerationMatch });
    return file.metadata;
  };
  return await repeat(file.storage, write, async (error) => {
    const stored = statusOf(error) === 412 ? await find(file) : undefined;
    const own = sums();
    if (stored === undefined || stored.crc32c !== own.crc32c || Number(stored.size) !== Number(own.size)) {
      throw error;
    }
    return stored;
  });
}

/** The live generation; undefined if there is none, or if this account may only create objects. */
async function find(file: File): Promise<FileMetadata | undefined> {
  try {
    return (await repeat(file.storage, () => file.getMetadata()))[0];
  } catch (error) {
    if (![403, 404].includes(statusOf(error) ?? 0)) {
      throw error;
    }
    return undefined;
  }
}
