import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange, ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';

/** The bytes of an upload. Both readers throw for faults of the storage, never for what the bytes say. */
export type PackageSource = {
  /** The file's name without its directory; pip goes by its ending. */
  readonly name: string;
  readonly sizeBytes: number;
  open(): Promise<Readable>;
  /** Exactly the bytes of the range, which lies within the file. */
  readRange(range: ByteRange): Promise<Uint8Array>;
};

/** One generation of an object as a package: a newer upload under the same name cannot slip in between two reads. */
export function packageSourceOf(objects: ObjectStore, info: ObjectInfo): PackageSource {
  const { bucket, name, generation, sizeBytes } = info;
  async function read(range?: ByteRange): Promise<Readable> {
    const bytes = await objects.read({ bucket, name }, { generation, ...(range === undefined ? {} : { range }) });
    if (bytes === undefined) {
      throw new Error(`gs://${bucket}/${name}#${generation} was deleted while it was read.`);
    }
    return bytes;
  }
  return {
    name: name.slice(name.lastIndexOf('/') + 1),
    sizeBytes,
    open: () => read(),
    readRange: async (range) => await buffer(await read(range)),
  };
}
