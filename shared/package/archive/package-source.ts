import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange, ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';

/** The bytes of an upload. Its readers throw for faults of the storage, never for what the bytes say. */
export type PackageSource = {
  /** The file's name without its directory; pip goes by its ending. */
  readonly name: string;
  readonly sizeBytes: number;
  open(): Promise<Readable>;
  /** Exactly the bytes of the range, which lies within the file. */
  readRange(range: ByteRange): Promise<Uint8Array>;
  /** All bytes at once; only a small package has this. */
  readonly readWhole?: () => Promise<Uint8Array>;
};

/** What is no larger is fetched whole, once: head, directory and files would each cost a way to the storage. */
export const SMALL_PACKAGE_BYTES = 1_048_576;

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
  const source = {
    name: name.slice(name.lastIndexOf('/') + 1),
    sizeBytes,
    open: () => read(),
    readRange: async (range: ByteRange) => await buffer(await read(range)),
  };
  return sizeBytes <= SMALL_PACKAGE_BYTES ? fetchedWhole(source) : source;
}

/** Answers everything from memory. */
function fetchedWhole(source: PackageSource): PackageSource {
  const { name, sizeBytes } = source;
  async function fetchWhole(): Promise<Uint8Array> {
    const bytes = await buffer(await source.open());
    if (bytes.length !== sizeBytes) {
      throw new Error(`Reading ${name} ended after ${bytes.length} of ${sizeBytes} bytes.`);
    }
    return bytes;
  }
  let whole: Promise<Uint8Array> | undefined;
  function readWhole(): Promise<Uint8Array> {
    whole ??= fetchWhole();
    return whole;
  }
  return {
    name,
    sizeBytes,
    open: async () => Readable.from([await readWhole()]),
    readRange: async ({ startByte, endByte }) => (await readWhole()).subarray(startByte, endByte),
    readWhole,
  };
}
