import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange, ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';

/** The bytes of an upload. Its methods throw for storage errors only, never because of the content. */
export type PackageSource = {
  /** The file name without its directory; pip depends on its extension. */
  readonly name: string;
  readonly sizeBytes: number;
  open(): Promise<Readable>;
  /** Reads exactly the bytes of the range, which must be within the file. */
  readRange(range: ByteRange): Promise<Uint8Array>;
  /** Reads all bytes at once; only for small packages. */
  readonly readWhole?: () => Promise<Uint8Array>;
};

/** Packages up to this size are fetched with one request, instead of one each for head, directory and files. */
export const SMALL_PACKAGE_BYTES = 1_048_576;

/** One generation of an object as a package: a newer upload with the same name is not mixed into its reads. */
export function packageSourceOf(objects: ObjectStore, info: ObjectInfo): PackageSource {
  const { bucket, name, generation, sizeBytes } = info;
  async function read(range?: ByteRange): Promise<Readable> {
    const bytes = await objects.read({ bucket, name }, { generation, ...(range === undefined ? {} : { range }) });
    if (bytes === undefined) {
      throw new Error(`gs://${bucket}/${name}#${generation} was deleted while being read.`);
    }
    return bytes;
  }
  const source = {
    name: name.slice(name.lastIndexOf('/') + 1),
    sizeBytes,
    open: () => read(),
    readRange: async (range: ByteRange) => await buffer(await read(range)),
  };
  return sizeBytes <= SMALL_PACKAGE_BYTES ? cached(source) : source;
}

/** Fetches the package on first use, then serves all reads from memory. */
function cached(source: PackageSource): PackageSource {
  const { name, sizeBytes } = source;
  async function fetchAll(): Promise<Uint8Array> {
    const bytes = await buffer(await source.open());
    if (bytes.length !== sizeBytes) {
      throw new Error(`Reading ${name} ended after ${bytes.length} of ${sizeBytes} bytes.`);
    }
    return bytes;
  }
  let whole: Promise<Uint8Array> | undefined;
  function readWhole(): Promise<Uint8Array> {
    whole ??= fetchAll();
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
