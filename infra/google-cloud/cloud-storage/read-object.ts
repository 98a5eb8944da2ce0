import { Readable } from 'node:stream';
import { CRC32C, type File } from '@google-cloud/storage';
import { startRetries } from '#infra/google-cloud/cloud-storage/retries.ts';
import type { ByteRange } from '#shared/ports/object-store.ts';

/** One generation of an object. */
type Source = { readonly file: File; readonly sizeBytes: number; readonly crc32c: string; readonly range?: ByteRange };

/**
 * Reads stored bytes. After a transient error it continues at the byte that it has reached. Those of a whole object are
 * compared with their CRC32C.
 */
export function readObject(source: Source): Readable {
  // The library's own stream ends the process if it is destroyed before the response: a generator never does that.
  return Readable.from(readPieces(source), { objectMode: false });
}

async function* readPieces({ file, sizeBytes, crc32c, range }: Source) {
  const endByte = Math.min(range?.endByte ?? sizeBytes, sizeBytes);
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
  if (range === undefined && !computed.validate(crc32c)) {
    throw new Error(`The CRC32C of the bytes read of ${file.cloudStorageURI.href} differs. Read it again.`);
  }
}
