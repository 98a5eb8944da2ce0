import { Readable } from 'node:stream';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import type { PackageSource } from '#shared/package/archive/package-source.ts';

/** A tar entry as it will be written, valid or not. */
export type TarEntry = {
  readonly path: string;
  readonly data?: string | Uint8Array;
  /** The type flag: '0' file, '1' hard link, '2' symbolic link, '3' device, '5' directory, '6' pipe, 'x' and 'g' pax. */
  readonly type?: string;
  readonly target?: string;
  /** The size stated in the header, if it differs from the data. */
  readonly sizeBytes?: number;
};

const BLOCK_BYTES = 512;

export function tarOf(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.map(tarEntryOf), Buffer.alloc(2 * BLOCK_BYTES)]);
}

export function tarEntryOf({ path, data = '', type = '0', target = '', sizeBytes }: TarEntry): Buffer {
  const body = Buffer.from(data);
  if (Buffer.byteLength(path) > 100 || Buffer.byteLength(target) > 100) {
    const attributes = paxOf({ path, ...(target === '' ? {} : { linkpath: target }) });
    const short = {
      path: 'long',
      data,
      type,
      target: target.slice(0, 10),
      ...(sizeBytes === undefined ? {} : { sizeBytes }),
    };
    return Buffer.concat([tarEntryOf({ path: 'pax', type: 'x', data: attributes }), tarEntryOf(short)]);
  }
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(path, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${(sizeBytes ?? body.length).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write(type, 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  writeChecksum(header);
  const padding = Buffer.alloc((BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return Buffer.concat([header, body, padding]);
}

/** Writes the checksum of a tar's header, for which the field itself counts as spaces. */
export function writeChecksum(header: Buffer): void {
  header.write('        ', 148);
  const sum = header.subarray(0, BLOCK_BYTES).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}

/** Records of a pax header, each of which starts with its own length in decimal. */
export function paxOf(attributes: Readonly<Record<string, string>>): Buffer {
  const records = Object.entries(attributes).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + 1;
    while (String(length).length + rest !== length) {
      length += 1;
    }
    return `${length} ${key}=${value}\n`;
  });
  return Buffer.from(records.join(''));
}

export function tarGzOf(entries: readonly TarEntry[]): Buffer {
  return gzipSync(tarOf(entries));
}

/** A zip entry as it will be written, valid or not. */
export type ZipEntry = {
  readonly path: string | Buffer;
  readonly data?: string | Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  readonly unixMode?: number;
  readonly extra?: Buffer;
  /** The values stated in the headers, if they differ from the data. */
  readonly sizeBytes?: number;
  readonly crc?: number;
  readonly localPath?: string;
  /** The stated offset of the entry, if it differs from the actual one. */
  readonly offset?: number;
};

export function zipOf(entries: readonly ZipEntry[], options: { readonly isZip64?: boolean } = {}): Buffer {
  const locals: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { local, record } = zipEntryOf(entry, offset);
    locals.push(local);
    records.push(record);
    offset += local.length;
  }
  const directory = Buffer.concat(records);
  const location = { offset, sizeBytes: directory.length, count: entries.length };
  const end = options.isZip64
    ? Buffer.concat([zip64EndOf(location), endOf({ offset: 0xffffffff, sizeBytes: 0xffffffff, count: 0xffff })])
    : endOf(location);
  return Buffer.concat([...locals, directory, end]);
}

function zipEntryOf(entry: ZipEntry, offset: number): { local: Buffer; record: Buffer } {
  const { method = 8, flags = 0x800, unixMode = 0o100644, extra = Buffer.alloc(0), localPath } = entry;
  const data = Buffer.from(entry.data ?? '');
  const stored = method === 8 ? deflateRawSync(data) : data;
  const name = Buffer.from(entry.path);
  const localName = localPath === undefined ? name : Buffer.from(localPath);
  const common = Buffer.alloc(22);
  common.writeUInt16LE(flags, 2);
  common.writeUInt16LE(method, 4);
  common.writeUInt32LE(entry.crc ?? crc32(data), 10);
  common.writeUInt32LE(stored.length, 14);
  common.writeUInt32LE(entry.sizeBytes ?? data.length, 18);
  const localHead = Buffer.alloc(4);
  localHead.writeUInt32LE(0x04034b50, 0);
  const local = Buffer.concat([localHead, common, uint16Of(localName.length), uint16Of(0), localName, stored]);
  const record = Buffer.alloc(46);
  record.writeUInt32LE(0x02014b50, 0);
  record.writeUInt16LE((3 << 8) | 20, 4);
  common.copy(record, 6);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt32LE((unixMode << 16) >>> 0, 38);
  record.writeUInt32LE(entry.offset ?? offset, 42);
  return { local, record: Buffer.concat([record, name, extra]) };
}

type DirectoryLocation = { readonly offset: number; readonly sizeBytes: number; readonly count: number };

function endOf({ offset, sizeBytes, count }: DirectoryLocation): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(sizeBytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}

function zip64EndOf({ offset, sizeBytes, count }: DirectoryLocation): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(sizeBytes), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(offset + sizeBytes), 64);
  end.writeUInt32LE(1, 72);
  return end;
}

function uint16Of(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

export function sourceOf(name: string, bytes: Uint8Array): PackageSource {
  return {
    name,
    sizeBytes: bytes.length,
    open: async () => Readable.from(piecesOf(bytes)),
    readRange: async ({ startByte, endByte }) => bytes.subarray(startByte, endByte),
  };
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) {
    yield bytes.subarray(start, start + 10_000);
  }
}

/** A minimal project that pip can install and whose `trainer.task` runs. */
export const TRAINER: readonly { readonly path: string; readonly data: string }[] = [
  {
    path: 'trainer-1.0/setup.py',
    data: "from setuptools import setup\nsetup(name='trainer', version='1.0', packages=['trainer'])\n",
  },
  { path: 'trainer-1.0/trainer/__init__.py', data: '' },
  { path: 'trainer-1.0/trainer/task.py', data: 'print(1)\n' },
];

/** A wheel of `trainer.task`. `without` removes files that RECORD lists, `more` adds files that it does not list. */
export function wheelOf({
  without = [],
  more = [],
}: {
  without?: readonly string[];
  more?: readonly ZipEntry[];
} = {}): Buffer {
  const info = 'trainer-1.0.dist-info';
  const files = [
    { path: 'trainer/__init__.py', data: '' },
    { path: 'trainer/task.py', data: 'print(1)\n' },
    {
      path: `${info}/METADATA`,
      data: 'Metadata-Version: 2.1\nName: trainer\nVersion: 1.0\nRequires-Dist: numpy>=1.20\nRequires-Python: >=3.9\n\nLong text',
    },
    { path: `${info}/WHEEL`, data: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' },
  ];
  const record = [...files.map(({ path }) => `${path},sha256=x,1`), `${info}/RECORD,,`].join('\n');
  const all = [...files, { path: `${info}/RECORD`, data: record }];
  return zipOf([...all.filter(({ path }) => !without.some((end) => path.endsWith(end))), ...more]);
}
