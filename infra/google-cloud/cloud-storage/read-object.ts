import { Readable } from 'node:stream';
import { CRC32C, type File, type FileMetadata } from '@google-cloud/storage';
import { startRetries } from '#infra/google-cloud/cloud-storage/retries.ts';
import type { ByteRange } from '#shared/ports/object-store.ts';

type Generation = Pick<FileMetadata, 'generation' | 'size' | 'crc32c'>;

/**
 * Reads the stored bytes of one generation, whatever replaces it meanwhile. After a transient error it continues at the
 * byte that it has reached. Those of a whole object are compared with their CRC32C.
 */
export function readObject(file: File, stored: Generation, range?: ByteRange): Readable {
  const pinned = file.bucket.file(file.name, { generation: String(stored.generation) });
  // The library's own stream ends the process if it is destroyed before the response: a generator never does that.
  return Readable.from(readPieces(pinned, stored, range), { objectMode: false });
}

async function* readPieces(file: File, { size, crc32c }: Generation, range?: ByteRange) {
  const endByte = Math.min(range?.endByte ?? Number(size), Number(size));
  let position = range?.startByte ?? 0;
  const computed = new CRC32C();
  const retries = startRetries(file.storage);
  while (position < endByte) {
    const startByte = position;
    try {
      const options = { decompress: false, start: position, end: endByte - 1 };
      for await (const piece of file.createReadStream(options) as AsyncIterable<Buffer>) {
        position += piece.length;
        computed.update(piece);
        retries.restart();
        yield piece;
      }
      if (position === startByte) {
        throw Object.assign(new Error('The answer has no bytes.'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
      }
    } catch (error) {
      await retries.next(error);
    }
  }
  if (range === undefined && !computed.validate(String(crc32c))) {
    throw new Error(`The CRC32C of the bytes read of ${file.cloudStorageURI.href} differs. Read it again.`);
  }
}
