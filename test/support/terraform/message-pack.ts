/** A value that is known only after apply. */
export const UNKNOWN = Symbol('unknown');

/** A value as exchanged between Terraform and providers. */
export type Value = null | boolean | number | string | typeof UNKNOWN | readonly Value[] | ValueMap;

export type ValueMap = { readonly [name: string]: Value };

export function isValueMap(value: Value | undefined): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Encodes MessagePack (github.com/msgpack/msgpack, spec.md); Terraform accepts every number as a float. */
export function encodeValue(value: Value): Buffer {
  if (value === null) {
    return Buffer.of(0xc0);
  }
  if (value === UNKNOWN) {
    // Extension 0 with one byte: an unknown value (Terraform, docs/plugin-protocol/object-wire-format.md).
    return Buffer.of(0xd4, 0, 0);
  }
  if (typeof value === 'boolean') {
    return Buffer.of(value ? 0xc3 : 0xc2);
  }
  if (typeof value === 'number') {
    return withNumber(0xcb, 8, (bytes) => bytes.writeDoubleBE(value, 1));
  }
  if (typeof value === 'string') {
    return Buffer.concat([withLength(0xdb, Buffer.byteLength(value)), Buffer.from(value)]);
  }
  if (isValueMap(value)) {
    const entries = Object.entries(value);
    const parts = entries.flatMap(([name, item]) => [encodeValue(name), encodeValue(item)]);
    return Buffer.concat([withLength(0xdf, entries.length), ...parts]);
  }
  return Buffer.concat([withLength(0xdd, value.length), ...value.map(encodeValue)]);
}

function withLength(kind: number, length: number): Buffer {
  return withNumber(kind, 4, (bytes) => bytes.writeUInt32BE(length, 1));
}

function withNumber(kind: number, sizeBytes: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(1 + sizeBytes);
  bytes[0] = kind;
  write(bytes);
  return bytes;
}

export function decodeValue(bytes: Buffer): Value {
  return readValue({ bytes, at: 0 });
}

type Reader = { readonly bytes: Buffer; at: number };

/** Dispatches on the first byte: fixed formats up to 0xbf and from 0xe0, otherwise one byte per type. */
function readValue(reader: Reader): Value {
  const kind = readNumber(reader, 1, (bytes, at) => bytes.readUInt8(at));
  if (kind < 0x80 || kind >= 0xe0) {
    return kind < 0x80 ? kind : kind - 0x100;
  }
  if (kind < 0xc0) {
    return kind < 0x90
      ? readMap(reader, kind - 0x80)
      : kind < 0xa0
        ? readList(reader, kind - 0x90)
        : readText(reader, kind - 0xa0);
  }
  return kind < 0xca ? readSimple(reader, kind) : kind < 0xd4 ? readNumeric(reader, kind) : readSized(reader, kind);
}

function readSimple(reader: Reader, kind: number): Value {
  switch (kind) {
    case 0xc0:
      return null;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xc7:
      return skipExtension(reader, readUnsigned(reader, 1));
    default:
      throw new Error(`MessagePack type 0x${kind.toString(16)} is not supported: Terraform does not send it.`);
  }
}

function readNumeric(reader: Reader, kind: number): Value {
  switch (kind) {
    case 0xca:
      return readNumber(reader, 4, (bytes, at) => bytes.readFloatBE(at));
    case 0xcb:
      return readNumber(reader, 8, (bytes, at) => bytes.readDoubleBE(at));
    case 0xcf:
      return readNumber(reader, 8, (bytes, at) => Number(bytes.readBigUInt64BE(at)));
    case 0xd3:
      return readNumber(reader, 8, (bytes, at) => Number(bytes.readBigInt64BE(at)));
  }
  const sizeBytes = 2 ** ((kind - 0xcc) % 4);
  return kind < 0xd0
    ? readUnsigned(reader, sizeBytes)
    : readNumber(reader, sizeBytes, (bytes, at) => bytes.readIntBE(at, sizeBytes));
}

function readSized(reader: Reader, kind: number): Value {
  if (kind <= 0xd8) {
    return skipExtension(reader, 2 ** (kind - 0xd4));
  }
  if (kind <= 0xdb) {
    return readText(reader, readUnsigned(reader, 2 ** (kind - 0xd9)));
  }
  const length = readUnsigned(reader, kind % 2 === 0 ? 2 : 4);
  return kind <= 0xdd ? readList(reader, length) : readMap(reader, length);
}

/** Both extensions stand for an unknown value: 0 has no payload, 12 carries refinements. */
function skipExtension(reader: Reader, length: number): Value {
  reader.at += 1 + length;
  return UNKNOWN;
}

function readList(reader: Reader, length: number): readonly Value[] {
  return Array.from({ length }, () => readValue(reader));
}

function readMap(reader: Reader, length: number): ValueMap {
  return Object.fromEntries(Array.from({ length }, () => [String(readValue(reader)), readValue(reader)]));
}

function readText(reader: Reader, length: number): string {
  reader.at += length;
  return reader.bytes.toString('utf8', reader.at - length, reader.at);
}

function readUnsigned(reader: Reader, sizeBytes: number): number {
  return readNumber(reader, sizeBytes, (bytes, at) => bytes.readUIntBE(at, sizeBytes));
}

function readNumber(reader: Reader, sizeBytes: number, read: (bytes: Buffer, at: number) => number): number {
  reader.at += sizeBytes;
  return read(reader.bytes, reader.at - sizeBytes);
}
