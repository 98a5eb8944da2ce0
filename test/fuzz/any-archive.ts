import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  paxOf,
  type TarEntry,
  tarEntryOf,
  writeChecksum,
  type ZipEntry,
  zipOf,
} from '../support/package/build-archives.ts';

export type NamedArchive = { readonly name: string; readonly bytes: Buffer };

const BLOCK_BYTES = 512;

const path = fc.constantFrom('a', 'b', 'd/', 'd/c', 'a/', './b', 'é', 'x'.repeat(100), 'setup.py');
const INNER_ZIP = zipOf([{ path: 'inner', data: 'x' }]);
const data = fc.constantFrom<string | Buffer>('', 'x', 'y'.repeat(511), 'z'.repeat(512), 'w'.repeat(700), INNER_ZIP);
const target = fc.constantFrom('', 'a', 'b', 'd/c', '../a', 'é');
const type = fc.constantFrom('0', '0', '0', '\0', '5', '1', '2', '7', 'S', 'V', 'N', 'X', '9');

const attributes = fc.dictionary(
  fc.constantFrom('path', 'linkpath', 'size', 'mtime', 'comment', 'hdrcharset', 'GNU.sparse.name', 'GNU.sparse.major'),
  fc.constantFrom(
    '',
    'a',
    'long/name',
    'b/',
    '0',
    '1',
    '512',
    '1_0',
    ' 5',
    '-1',
    '+3',
    '0x1',
    '99999999',
    'BINARY',
    'é',
  ),
  { maxKeys: 2 },
);
const records = fc.oneof(
  attributes.map((values) => paxOf(values)),
  fc
    .constantFrom(
      '',
      '0 ',
      '8 path=\n',
      '10 path=abc\n',
      '011 path=abc\n',
      '12 path=abc\n',
      '9999 path=a\n',
      'path=a\n',
    )
    .map((text) => Buffer.from(text)),
);
const longName = fc.constantFrom('', 'long', 'other/name', 'name\0hidden', 'e/', '\0').map((text) => Buffer.from(text));

/** Entries that no tool writes, or not there: attributes without an entry, types without data, names that are taken. */
const odd: fc.Arbitrary<TarEntry> = fc.oneof(
  fc.record({ path, data, type, target }),
  fc.record({ path: fc.constant('pax'), type: fc.constantFrom('x', 'g'), data: records }),
  fc.record({ path: fc.constant('long'), type: fc.constantFrom('L', 'K'), data: longName }),
);

/** Offset and length of the fields of a tar header that readers parse. */
const FIELDS = [
  [0, 100],
  [100, 8],
  [108, 8],
  [116, 8],
  [124, 12],
  [136, 12],
  [148, 8],
  [156, 1],
  [157, 100],
  [257, 8],
  [329, 8],
  [337, 8],
  [345, 155],
] as const;
const value = fc.oneof(
  fc
    .constantFrom(
      '0',
      '00000000001\0',
      '1000',
      '    12 ',
      '12 3',
      '1_0',
      '0o17',
      '-1',
      '+5',
      '9',
      '\0\0\0',
      'ustar  \0',
      'ustar\x0000',
      'a',
      'a/',
    )
    .map((text) => Buffer.from(text, 'latin1')),
  fc
    .tuple(fc.constantFrom(0x80, 0x81, 0xc0, 0xfe, 0xff), fc.constantFrom(0, 1, 0xff))
    .map(([first, rest]) =>
      Buffer.from([first, ...Array<number>(6).fill(rest === 1 ? 0 : rest), ...[0, 0, 0, 0, rest]]),
    ),
);
const edit = fc.record({
  field: fc.constantFrom(...FIELDS),
  value,
  fixesChecksum: fc.integer({ min: 0, max: 9 }).map((one) => one > 0),
});
type Edit = { readonly field: readonly [number, number]; readonly value: Buffer; readonly fixesChecksum: boolean };

function edited(original: Buffer, { field: [offset, length], value: bytes, fixesChecksum }: Edit): Buffer {
  const changed = Buffer.from(original);
  changed.fill(0, offset, offset + length);
  bytes.copy(changed, offset, 0, Math.min(length, bytes.length));
  if (fixesChecksum) {
    writeChecksum(changed);
  }
  return changed;
}

/** A change of the header at a place: another entry before it, or other values in it. */
const oddity = fc.record({ at: fc.nat(3), before: fc.array(odd, { maxLength: 2 }), edit: fc.option(edit) });

/** Blocks are removed, repeated, emptied, or moved to the end. */
const blockChange = fc.record({ at: fc.nat(20), how: fc.constantFrom('remove', 'repeat', 'empty', 'move') });

function withChange(tar: Buffer, { at, how }: { readonly at: number; readonly how: string }): Buffer {
  const start = (at % Math.max(1, tar.length / BLOCK_BYTES)) * BLOCK_BYTES;
  const [before, block, after] = [
    tar.subarray(0, start),
    tar.subarray(start, start + BLOCK_BYTES),
    tar.subarray(start + BLOCK_BYTES),
  ];
  switch (how) {
    case 'remove':
      return Buffer.concat([before, after]);
    case 'repeat':
      return Buffer.concat([before, block, block, after]);
    case 'empty':
      return Buffer.concat([before, Buffer.alloc(BLOCK_BYTES), after]);
    default:
      return Buffer.concat([before, after, block]);
  }
}

const tar = fc
  .record({
    files: fc.array(data, { minLength: 1, maxLength: 4 }),
    oddities: fc.array(oddity, { maxLength: 2 }),
    change: fc.option(blockChange, { freq: 1 }),
    endBlocks: fc.constantFrom(0, 1, 2, 2, 2, 4),
  })
  .map(({ files, oddities, change, endBlocks }) => {
    const entries = files.map((content, index) => tarEntryOf({ path: `d/f${index}`, data: content }));
    for (const { at, before, edit: made } of oddities) {
      const original = entries[at % entries.length] ?? Buffer.alloc(BLOCK_BYTES);
      const changed = made === null ? original : edited(original, made);
      entries[at % entries.length] = Buffer.concat([...before.map(tarEntryOf), changed]);
    }
    const whole = Buffer.concat([...entries, Buffer.alloc(endBlocks * BLOCK_BYTES)]);
    return change === null ? whole : withChange(whole, change);
  });

const zipEntry: fc.Arbitrary<ZipEntry> = fc.record(
  {
    path,
    data,
    method: fc.constantFrom(0, 8),
    flags: fc.constantFrom(0x800, 0, 8, 0x808),
    unixMode: fc.constantFrom(0o100644, 0o040755, 0, 0o120777),
    localPath: fc.constantFrom('a', 'other'),
    sizeBytes: fc.constantFrom(0, 1, 511),
  },
  { requiredKeys: ['path', 'data'] },
);
const zip = fc
  .tuple(fc.array(data, { minLength: 1, maxLength: 4 }), fc.array(zipEntry, { maxLength: 1 }))
  .map(([files, others]) =>
    zipOf([...files.map((content, index) => ({ path: `d/f${index}`, data: content })), ...others]),
  );

const byteChange = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));

function withBytes(bytes: Buffer, changes: readonly (readonly [number, number])[]): Buffer {
  const changed = Buffer.from(bytes);
  for (const [at, byte] of bytes.length === 0 ? [] : changes) {
    changed[at % bytes.length] = byte;
  }
  return changed;
}

/** Archives near the border between those that all readers understand alike, and those that they do not. */
export const anyArchive: fc.Arbitrary<NamedArchive> = fc.oneof(
  { weight: 5, arbitrary: tar.map((bytes) => ({ name: 't.tar', bytes })) },
  { weight: 2, arbitrary: tar.map((bytes) => ({ name: 't.tar.gz', bytes: gzipSync(bytes, { level: 1 }) })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(tar, zip)
      .map(([first, second]) => ({ name: 't.tar.gz', bytes: Buffer.concat([gzipSync(first, { level: 1 }), second]) })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(tar, fc.array(byteChange, { maxLength: 3 }))
      .map(([bytes, changes]) => ({ name: 't.tar', bytes: withBytes(bytes, changes) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(zip, fc.array(byteChange, { maxLength: 2 }))
      .map(([bytes, changes]) => ({ name: 't.zip', bytes: withBytes(bytes, changes) })),
  },
);
