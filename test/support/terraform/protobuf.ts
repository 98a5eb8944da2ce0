/** Fields of a message by number (protobuf.dev, "Encoding"): varints and length-delimited values. */
export type Fields = ReadonlyMap<number, readonly (number | Buffer)[]>;

const VARINT = 0;
const LENGTH_DELIMITED = 2;

export function bytesField(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([encodeVarint(number * 8 + LENGTH_DELIMITED), encodeVarint(bytes.length), bytes]);
}

/** Omitted if 0 or false, as in proto3. */
export function integerField(number: number, value: number | boolean): Buffer {
  return Number(value) === 0
    ? Buffer.alloc(0)
    : Buffer.concat([encodeVarint(number * 8 + VARINT), encodeVarint(Number(value))]);
}

/** A map is a repeated entry with the key as field 1 and the value as field 2. */
export function mapField(number: number, entries: Readonly<Record<string, Buffer>>): Buffer {
  return Buffer.concat(
    Object.entries(entries).map(([key, value]) =>
      bytesField(number, Buffer.concat([bytesField(1, key), bytesField(2, value)])),
    ),
  );
}

export function readFields(message: Buffer): Fields {
  const fields = new Map<number, (number | Buffer)[]>();
  for (let at = 0; at < message.length; ) {
    const tag = decodeVarint(message, at);
    const head = decodeVarint(message, tag.end);
    const isBytes = tag.value % 8 === LENGTH_DELIMITED;
    at = isBytes ? head.end + head.value : head.end;
    const number = Math.floor(tag.value / 8);
    const value = isBytes ? message.subarray(head.end, at) : head.value;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

/** Bytes of a field; empty if the field is absent. */
export function bytesOf(fields: Fields, number: number): Buffer {
  const [value] = fields.get(number) ?? [];
  return value instanceof Buffer ? value : Buffer.alloc(0);
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    bytes.push((rest % 0x80) + 0x80);
  }
  return Buffer.of(...bytes, rest);
}

function decodeVarint(bytes: Buffer, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes.readUInt8(at);
    value += (byte % 0x80) * 0x80 ** (at - from);
    if (byte < 0x80) {
      return { value, end: at + 1 };
    }
  }
  throw new Error('The protobuf message ends inside a varint.');
}
