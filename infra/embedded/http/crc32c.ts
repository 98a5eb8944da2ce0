/** The polynomial of CRC32C, with its bits reversed. */
const POLYNOMIAL = 0x82_f6_3b_78;

/** By the distance of a byte from the end of its word, and by the byte. */
const TABLES = createTables();

/**
 * Returns the CRC32C of the bytes (RFC 9260, appendix A), or continues that of the bytes before. Processes four bytes
 * at a step ("slicing-by-4"), in less time than the MD5 that each object has as well, without native code.
 */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wordsEnd = bytes.byteLength & ~3;
  let crc = ~previous;
  for (let at = 0; at < wordsEnd; at += 4) {
    const word = crc ^ view.getInt32(at, true);
    crc = remainder(3, word) ^ remainder(2, word >>> 8) ^ remainder(1, word >>> 16) ^ remainder(0, word >>> 24);
  }
  for (let at = wordsEnd; at < bytes.byteLength; at += 1) {
    crc = (crc >>> 8) ^ remainder(0, crc ^ view.getUint8(at));
  }
  return ~crc >>> 0;
}

function remainder(distance: number, byte: number): number {
  return TABLES[(distance << 8) | (byte & 0xff)] ?? 0;
}

function createTables(): Int32Array {
  const tables = new Int32Array(4 * 256);
  for (let index = 0; index < tables.length; index += 1) {
    let crc = index < 256 ? index : (tables[index - 256] ?? 0);
    for (let bit = 0; bit < 8; bit += 1) {
      crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    }
    tables[index] = crc;
  }
  return tables;
}
