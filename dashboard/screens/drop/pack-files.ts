/** A file of a tar archive. */
export type TarEntry = { readonly path: string; readonly content: Blob };

const BLOCK_BYTES = 512;
/** Size of the name in the header (POSIX.1, ustar); longer and non-ASCII names are in an extended header. */
const NAME_BYTES_MAX = 100;
const MODE = '0000644';

/**
 * The files as a tar.gz, in the format of POSIX.1-2001, which Python and tar read. Without times and owners: the same
 * files become the same archive.
 */
export async function packFiles(entries: readonly TarEntry[]): Promise<Blob> {
  const parts: BlobPart[] = [];
  for (const { path, content } of entries) {
    parts.push(...(await extendedHeaderOf(path)), headerOf(path, { bytes: content.size, type: '0' }), content);
    parts.push(paddingOf(content.size));
  }
  parts.push(new Uint8Array(2 * BLOCK_BYTES));
  const compressed = new Blob(parts).stream().pipeThrough(new CompressionStream('gzip'));
  return new Response(compressed).blob();
}

/** The header that has the whole path, as `LENGTH path=PATH`, if the ustar header is too small for it. */
async function extendedHeaderOf(path: string): Promise<readonly BlobPart[]> {
  const bytes = new TextEncoder().encode(path);
  if (bytes.length <= NAME_BYTES_MAX && bytes.length === path.length) {
    return [];
  }
  const rest = bytes.length + ' path=\n'.length;
  // The length counts its own digits.
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  const record = new Blob([`${length} path=`, bytes, '\n']);
  return [headerOf('PaxHeader', { bytes: record.size, type: 'x' }), record, paddingOf(record.size)];
}

type Header = { readonly bytes: number; readonly type: '0' | 'x' };

function headerOf(path: string, { bytes, type }: Header): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(BLOCK_BYTES);
  const write = (text: string, offset: number, size: number) =>
    header.set(new TextEncoder().encode(text).slice(0, size), offset);
  write(path, 0, NAME_BYTES_MAX);
  write(MODE, 100, 7);
  write('0000000', 108, 7);
  write('0000000', 116, 7);
  write(bytes.toString(8).padStart(11, '0'), 124, 11);
  write('00000000000', 136, 11);
  write('        ', 148, 8);
  write(type, 156, 1);
  write('ustar', 257, 5);
  write('00', 263, 2);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148, 8);
  return header;
}

function paddingOf(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES);
}
