import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';
import type { PackageSource } from '#shared/package/archive/package-source.ts';

/** The size of a range request. A zip is read at its end, then its directory, then its files. */
const WINDOW_BYTES = 4 * 1_024 * 1_024;

/** Random access for yauzl by range requests; caches the last window. */
export class ZipReader extends RandomAccessReader {
  /** A storage error, to be distinguished from errors of the archive. */
  sourceError: unknown = null;
  readonly #source: PackageSource;
  #windowStart = 0;
  #window: Uint8Array = new Uint8Array();

  constructor(source: PackageSource) {
    super();
    this.#source = source;
  }

  /** The bytes from `start` to `end` or the end of the file, in pieces of at most one window. */
  async *readPieces(start: number, end: number): AsyncGenerator<Uint8Array> {
    let position = start;
    while (position < end) {
      const piece = await this.#readPiece(position, end);
      if (piece.length === 0) {
        return;
      }
      position += piece.length;
      yield piece;
    }
  }

  async readBytes(start: number, end: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.readPieces(start, end)) {
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.readPieces(start, end));
  }

  override read(...[into, offset, length, position, done]: Parameters<RandomAccessReader['read']>): void {
    this.readBytes(position, position + length).then(
      (bytes) => {
        into.set(bytes, offset);
        done(bytes.length < length ? new Error('unexpected end of file') : null);
      },
      (error: Error) => done(error),
    );
  }

  override close(done: (error: Error | null) => void): void {
    done(null);
  }

  async #readPiece(position: number, end: number): Promise<Uint8Array> {
    const { sizeBytes } = this.#source;
    if (!(position >= 0 && position < sizeBytes)) {
      return new Uint8Array();
    }
    if (position < this.#windowStart || position >= this.#windowStart + this.#window.length) {
      await this.#fetchWindow({ startByte: position, endByte: Math.min(sizeBytes, position + WINDOW_BYTES) });
    }
    return this.#window.subarray(position - this.#windowStart, end - this.#windowStart);
  }

  async #fetchWindow(range: { readonly startByte: number; readonly endByte: number }): Promise<void> {
    try {
      const bytes = await this.#source.readRange(range);
      if (bytes.length !== range.endByte - range.startByte) {
        throw new Error(
          `Reading ${this.#source.name} gave ${bytes.length} bytes for ${range.startByte}..${range.endByte}.`,
        );
      }
      this.#window = bytes;
      this.#windowStart = range.startByte;
    } catch (error) {
      this.sourceError = error;
      throw error;
    }
  }
}
