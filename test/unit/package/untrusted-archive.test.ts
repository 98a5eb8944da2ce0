import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import {
  paxOf,
  sourceOf,
  type TarEntry,
  TRAINER,
  tarEntryOf,
  tarGzOf,
  tarOf,
  writeChecksum,
  type ZipEntry,
  zipOf,
} from '../../support/package/build-archives.ts';

async function inspectTar(entries: readonly TarEntry[]) {
  const { problems, warnings } = await inspectPackage(sourceOf('t.tar.gz', tarGzOf([...TRAINER, ...entries])));
  return [problems.map(({ code }) => code), warnings.map(({ code }) => code)];
}

async function inspectZip(entries: readonly ZipEntry[]) {
  const { problems } = await inspectPackage(sourceOf('t.zip', zipOf([...TRAINER, ...entries])));
  return problems.map(({ code }) => code);
}

const link = (path: string, target: string): TarEntry => ({ path: `trainer-1.0/${path}`, type: '2', target });

describe('paths', () => {
  it.each([
    ['/etc/passwd', 'PATH_ABSOLUTE'],
    ['C:/windows', 'PATH_ABSOLUTE'],
    ['trainer-1.0/../../x', 'PATH_ESCAPES'],
    ['..', 'PATH_ESCAPES'],
    ['trainer-1.0\\x', 'PATH_BACKSLASH'],
    ['trainer-1.0/a\nb', 'PATH_INVALID'],
    ['trainer-1.0/\u202Egnp.py', 'PATH_INVALID'],
    [`trainer-1.0/${'x'.repeat(256)}`, 'PATH_TOO_LONG'],
    [`trainer-1.0/${'x/'.repeat(32)}y`, 'PATH_TOO_LONG'],
    [`trainer-1.0/${'long/'.repeat(300)}y`, 'PATH_TOO_LONG'],
    ['trainer-1.0/setup.py', 'PATH_DUPLICATE'],
    ['trainer-1.0/./setup.py', 'PATH_DUPLICATE'],
    ['trainer-1.0/setup.py/x', 'PATH_CONFLICT'],
  ])('rejects %j in a tar and in a zip', async (path, code) => {
    expect((await inspectTar([{ path }]))[0]).toEqual([code]);
    expect(await inspectZip([{ path }])).toEqual([code]);
  });

  it('rejects the same paths in GNU long names and pax headers', async () => {
    expect(
      (await inspectTar([{ path: '././@LongLink', type: 'L', data: `../${'x'.repeat(120)}` }, { path: 'short' }]))[0],
    ).toEqual(['PATH_ESCAPES']);
    expect((await inspectTar([{ path: `../${'x'.repeat(120)}` }]))[0]).toEqual(['PATH_ESCAPES']);
  });

  it('rejects names that are not UTF-8', async () => {
    const header = tarEntryOf({ path: 'aa' });
    header.writeUInt8(0xff, 0);
    writeChecksum(header);
    const { problems } = await inspectPackage(sourceOf('t.tar', Buffer.concat([header, tarOf(TRAINER)])));
    expect(problems).toMatchObject([{ code: 'PATH_INVALID' }]);
    expect(await inspectZip([{ path: Buffer.from([0x61, 0xff]) }])).toEqual(['PATH_INVALID']);
  });

  it('warns about names that are the same file on macOS and Windows', async () => {
    expect(await inspectTar([{ path: 'trainer-1.0/SETUP.py' }])).toEqual([[], ['PATH_CASE_COLLISION']]);
    expect(await inspectTar([{ path: 'trainer-1.0/\u00e9' }, { path: 'trainer-1.0/e\u0301' }])).toEqual([
      [],
      ['PATH_CASE_COLLISION'],
    ]);
  });

  it('accepts a directory that is listed twice', async () => {
    const directory = { path: 'trainer-1.0/trainer/', type: '5' };
    expect(await inspectTar([directory, directory])).toEqual([[], []]);
  });

  it('escapes control characters in paths', async () => {
    const { problems } = await inspectPackage(sourceOf('t.tar', tarOf([{ path: 'a\u001b[2J' }])));
    expect(problems[0]).toMatchObject({ path: 'a\\u{1b}[2J' });
    expect(JSON.stringify(problems)).not.toContain('\\u001b');
  });
});

describe('links', () => {
  it.each([
    ['LINK_ESCAPES', 'absolute', [link('a', '/etc/passwd')]],
    ['LINK_ESCAPES', 'out of the top-level directory, which pip strips', [link('a', '../b')]],
    [
      'LINK_ESCAPES',
      'out through a chain of harmless links',
      [link('x/y/one', '../../c'), link('two', 'x/y/one/../..')],
    ],
    ['LINK_ESCAPES', 'that is a parent of a file', [link('d', 'trainer'), { path: 'trainer-1.0/d/x' }]],
    ['LINK_LOOPS', 'to itself', [link('a', 'a')]],
    ['LINK_ESCAPES', 'that is hard and points outside', [{ path: 'trainer-1.0/a', type: '1', target: '../b' }]],
    ['LINK_DANGLING', 'that is hard and dangling', [{ path: 'trainer-1.0/a', type: '1', target: 'trainer-1.0/none' }]],
    ['ENTRY_MALFORMED', 'with data, which could hide entries', [{ ...link('a', 'setup.py'), data: 'x' }]],
  ])('reports %s for a link %s', async (code, _what, entries) => {
    expect((await inspectTar(entries))[0]?.[0]).toBe(code);
  });

  it('accepts links that point inside the package', async () => {
    const hard = { path: 'trainer-1.0/copy.py', type: '1', target: 'trainer-1.0/setup.py' };
    expect(await inspectTar([link('x/y', '../trainer/./task.py'), link('z', 'x/y'), hard])).toEqual([[], []]);
  });
});

describe('entries of a tar', () => {
  it.each(['3', '4', '6', 'S', 'V'])('rejects type %s, which is not a file', async (type) => {
    expect((await inspectTar([{ path: 'trainer-1.0/x', type }]))[0]).toEqual(['ENTRY_SPECIAL']);
  });

  it('rejects entries that Python would read differently: global renaming and sparse names', async () => {
    const global = { path: 'g', type: 'g', data: paxOf({ path: '../../x' }) };
    expect((await inspectTar([global, { path: 'trainer-1.0/x' }]))[0]).toEqual(['ENTRY_MALFORMED']);
    const sparse = { path: 'x', type: 'x', data: paxOf({ 'GNU.sparse.name': '../../x' }) };
    expect((await inspectTar([sparse, { path: 'trainer-1.0/x' }]))[0]).toEqual(['ENTRY_SPECIAL']);
    const comment = { path: 'g', type: 'g', data: paxOf({ comment: '0123abcd' }) };
    expect((await inspectTar([comment, { path: 'trainer-1.0/x' }]))[0]).toEqual([]);
  });

  it('distinguishes a truncated archive from a damaged one', async () => {
    const whole = tarGzOf([
      ...TRAINER,
      { path: 'trainer-1.0/noise', data: Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * i) % 251)) },
    ]);
    const cut = await inspectPackage(sourceOf('t.tar.gz', whole.subarray(0, -20)));
    expect(cut.problems).toMatchObject([{ code: 'ARCHIVE_TRUNCATED' }]);
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(whole.length - 5) ^ 1, whole.length - 5);
    expect((await inspectPackage(sourceOf('t.tar.gz', damaged))).problems).toMatchObject([{ code: 'ARCHIVE_CORRUPT' }]);
    const boundary = tarOf(TRAINER).subarray(0, -1_024);
    expect((await inspectPackage(sourceOf('t.tar', boundary))).problems).toMatchObject([{ code: 'ARCHIVE_TRUNCATED' }]);
    expect((await inspectPackage(sourceOf('t.tar.gz', gzipSync(boundary)))).problems).toMatchObject([
      { code: 'ARCHIVE_TRUNCATED' },
    ]);
  });
});

describe('entries of a zip', () => {
  it.each<[string, string, ZipEntry]>([
    ['ARCHIVE_ENCRYPTED', 'is encrypted', { path: 'x', flags: 0x801 }],
    ['ENTRY_COMPRESSION_UNSUPPORTED', 'is compressed with an unsupported method', { path: 'x', method: 12 }],
    ['LINK_IN_ZIP', 'is a link', { path: 'x', data: 'setup.py', unixMode: 0o120777 }],
    ['ENTRY_SPECIAL', 'is a device', { path: 'x', unixMode: 0o020666 }],
    ['ENTRY_MALFORMED', 'is larger than stated', { path: 'x', data: 'abcdef', sizeBytes: 3 }],
    ['ENTRY_MALFORMED', 'is smaller than stated', { path: 'x', data: 'abcdef', sizeBytes: 30 }],
    ['ENTRY_MALFORMED', 'has a different CRC-32', { path: 'x', data: 'abcdef', crc: 1 }],
    ['ENTRY_MALFORMED', 'has a different name in its local header', { path: 'x', localPath: '../x' }],
    ['PATH_INVALID', 'has a second name', { path: 'x', extra: Buffer.from([0x75, 0x70, 1, 0, 0]) }],
  ])('reports %s for an entry that %s', async (code, _what, entry) => {
    expect(await inspectZip([entry])).toEqual([code]);
  });

  it('rejects overlapping entries, as used by decompression bombs', async () => {
    const inner = { path: 'inner', data: 'x'.repeat(1_000) };
    const outer = { path: 'o', method: 0, data: zipOf([inner]).subarray(0, -(22 + 46 + 'inner'.length)) };
    const localHeaderBytes = 30 + outer.path.length;
    const { problems } = await inspectPackage(
      sourceOf('t.zip', zipOf([outer, { ...inner, offset: localHeaderBytes }])),
    );
    expect(problems).toMatchObject([{ code: 'ENTRY_OVERLAPS', path: 'inner' }]);
  });

  it('rejects a central directory at another offset than stated, because Python would find a different one', async () => {
    const bytes = zipOf(TRAINER);
    const shorter = Buffer.from(bytes);
    shorter.writeUInt32LE(shorter.readUInt32LE(bytes.length - 10) - 1, bytes.length - 10);
    expect((await inspectPackage(sourceOf('t.zip', shorter))).problems).toMatchObject([{ code: 'ARCHIVE_CORRUPT' }]);
    const fewer = Buffer.from(bytes);
    fewer.writeUInt16LE(2, bytes.length - 12);
    expect((await inspectPackage(sourceOf('t.zip', fewer))).problems).toMatchObject([{ code: 'ARCHIVE_CORRUPT' }]);
    expect((await inspectPackage(sourceOf('t.zip', bytes.subarray(0, -1)))).problems).toMatchObject([
      { code: 'ARCHIVE_TRUNCATED' },
    ]);
  });
});

describe('storage errors', () => {
  const bytes = tarGzOf(TRAINER);
  it('are not reported for a damaged archive whose rest is not read', async () => {
    const noise = { path: 'trainer-1.0/noise', data: randomBytes(3_000_000) };
    const damaged = tarGzOf([...TRAINER, noise]);
    damaged.fill(0xff, 100, 2_000);
    const { problems } = await inspectPackage(sourceOf('t.tar.gz', damaged));
    expect(problems).toMatchObject([{ code: 'ARCHIVE_CORRUPT' }]);
  });

  it('are thrown rather than reported as problems of the package', async () => {
    async function* broken() {
      yield bytes.subarray(0, 100);
      throw new Error('connection reset');
    }
    const source = { ...sourceOf('t.tar.gz', bytes), open: async () => Readable.from(broken()) };
    await expect(inspectPackage(source)).rejects.toThrow('connection reset');
    const short = { ...sourceOf('t.tar.gz', bytes), open: async () => Readable.from([bytes.subarray(0, 100)]) };
    await expect(inspectPackage(short)).rejects.toThrow('ended after 100 of');
    const zip = zipOf(TRAINER);
    let reads = 0;
    const flaky = {
      ...sourceOf('t.zip', zip),
      readRange: async (range: { startByte: number; endByte: number }) => {
        reads += 1;
        if (reads > 1) {
          throw new Error('connection reset');
        }
        return zip.subarray(range.startByte, range.endByte);
      },
    };
    await expect(inspectPackage(flaky)).rejects.toThrow('connection reset');
  });
});
