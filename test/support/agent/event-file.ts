import { crc32c } from '@node-rs/crc32';

/** A TensorFlow event file with one scalar a step, from step 1, as TensorFlow 1 and PyTorch write them. */
export function eventFileOf(tag: string, values: readonly number[]): Buffer {
  return Buffer.concat(values.map((value, index) => record(eventOf(tag, value, index + 1))));
}

/** Event { step = 2; summary = 5 { value = 1 { tag = 1; simple_value = 2 } } } (core/util/event.proto). */
function eventOf(tag: string, value: number, step: number): Buffer {
  const single = Buffer.alloc(4);
  single.writeFloatLE(value);
  const summaryValue = field(1, Buffer.concat([field(1, Buffer.from(tag)), Buffer.from([(2 << 3) | 5]), single]));
  return Buffer.concat([Buffer.from([2 << 3, step]), field(5, summaryValue)]);
}

/** A field with a length, of less than 128 bytes. */
function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
}

/** Length, its masked CRC, data, their masked CRC (TFRecord). */
function record(data: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedCrcOf(length), data, maskedCrcOf(data)]);
}

function maskedCrcOf(data: Buffer): Buffer {
  const crc = crc32c(data);
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE(((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) % 2 ** 32);
  return masked;
}
