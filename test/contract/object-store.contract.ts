import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectInfo, ObjectName, ObjectStore } from '../../shared/ports/object-store.ts';

export type ObjectStoreUnderTest = {
  readonly store: ObjectStore;
  makeBucket(name: string): Promise<void>;
  close(): Promise<void>;
};

/** The contract of every ObjectStore. */
export function describeObjectStoreContract(name: string, open: () => Promise<ObjectStoreUnderTest>): void {
  describe(`${name} as an object store`, () => {
    const bucket = `contract-${process.pid}`;
    const object: ObjectName = { bucket, name: 'a/b.txt' };
    let opened: ObjectStoreUnderTest;
    let store: ObjectStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
      await opened.makeBucket(bucket);
    });
    afterEach(() => opened.close());

    async function write(text: string, target: ObjectName = object): Promise<ObjectInfo> {
      return written(await store.write(target, Buffer.from(text)));
    }

    async function readText(target: ObjectName, options: Parameters<ObjectStore['read']>[1] = {}) {
      const bytes = await store.read(target, options);
      return bytes === undefined ? undefined : (await buffer(bytes)).toString();
    }

    it('reads what was written, with content type and metadata', async () => {
      const metadata = { author: 'Ada', empty: '' };
      const info = written(await store.write(object, Buffer.from('hello'), { contentType: 'text/plain', metadata }));
      expect(info).toMatchObject({ ...object, sizeBytes: 5, contentType: 'text/plain', metadata });
      expect(info.generation).toMatch(/^[1-9]\d*$/);
      expect(await store.stat(object)).toEqual(info);
      expect(await readText(object)).toBe('hello');
    });

    it.each([
      ['no bytes', Buffer.alloc(0), 'AAAAAA=='],
      ['32 zeros (RFC 3720, B.4)', Buffer.alloc(32), base64OfCrc(0x8a9136aa)],
      ['32 ones (RFC 3720, B.4)', Buffer.alloc(32, 0xff), base64OfCrc(0x62a8ab43)],
      [
        '0 to 31 (RFC 3720, B.4)',
        Buffer.from(Array.from({ length: 32 }, (_, index) => index)),
        base64OfCrc(0x46dd794e),
      ],
    ])('computes the CRC32C of %s', async (_, bytes, crc32c) => {
      expect(written(await store.write(object, bytes)).crc32c).toBe(crc32c);
    });

    it('writes a stream of many chunks as one object', async () => {
      const pieces = Array.from({ length: 300 }, (_, index) => Buffer.alloc(1_000, index % 256));
      const info = written(await store.write(object, () => Readable.from(pieces)));
      expect(info.sizeBytes).toBe(300_000);
      const bytes = await store.read(object);
      expect(bytes && (await buffer(bytes)).equals(Buffer.concat(pieces))).toBe(true);
    });

    it('writes nothing if the stream fails', async () => {
      await write('before');
      const failing = () =>
        Readable.from(
          (async function* () {
            yield Buffer.alloc(100_000);
            throw new Error('the line was cut');
          })(),
        );
      await expect(store.write(object, failing)).rejects.toThrow('the line was cut');
      expect(await readText(object)).toBe('before');
    });

    it('overwrites the object with a higher generation', async () => {
      const generations: bigint[] = [];
      for (const text of ['one', 'two', 'three']) {
        generations.push(BigInt((await write(text)).generation));
      }
      expect(generations).toEqual([...generations].sort((a, b) => (a < b ? -1 : 1)));
      expect(new Set(generations).size).toBe(3);
      expect(await readText(object)).toBe('three');
    });

    it('never returns another generation than requested', async () => {
      const first = await write('first');
      const second = await write('second');
      expect(await readText(object, { generation: second.generation })).toBe('second');
      expect([undefined, 'first']).toContain(await readText(object, { generation: first.generation }));
      expect(await store.stat(object, '12345')).toBeUndefined();
      expect(await readText(object, { generation: '12345' })).toBeUndefined();
    });

    it('writes with ifGeneration 0 only if the object does not exist', async () => {
      const first = written(await store.write(object, Buffer.from('first'), { ifGeneration: '0' }));
      expect(await store.write(object, Buffer.from('second'), { ifGeneration: '0' })).toBe('CONFLICT');
      expect(await store.stat(object)).toEqual(first);
    });

    it('replaces the generation of the precondition, and no other', async () => {
      const first = await write('first');
      const second = written(await store.write(object, Buffer.from('second'), { ifGeneration: first.generation }));
      expect(await store.write(object, Buffer.from('late'), { ifGeneration: first.generation })).toBe('CONFLICT');
      expect((await store.stat(object))?.generation).toBe(second.generation);
      expect(await readText(object)).toBe('second');
    });

    it('lets exactly one of ten concurrent first writes win', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          store.write(object, () => Readable.from([Buffer.from(`writer ${index}`)]), { ifGeneration: '0' }),
        ),
      );
      const winners = outcomes.flatMap((outcome, index) => (typeof outcome === 'object' ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'CONFLICT')).toHaveLength(9);
      expect(await readText(object)).toBe(`writer ${winners[0]}`);
    });

    it.each([
      ['the middle', { startByte: 2, endByte: 5 }, '234'],
      ['the first byte', { startByte: 0, endByte: 1 }, '0'],
      ['up to the end and beyond', { startByte: 8, endByte: 100 }, '89'],
    ])('reads a range: %s', async (_, range, expected) => {
      await write('0123456789');
      expect(await readText(object, { range })).toBe(expected);
    });

    it('lists by prefix in the byte order of the names', async () => {
      const names = ['b', 'a/2', 'a/10', 'a', 'ab', 'a/é', 'a/\u{1f600}', 'a/\uffee', 'A/1'];
      for (const name of names) {
        await write(name, { bucket, name });
      }
      const all = await store.list({ bucket, prefix: '', countMax: 100 });
      const byBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(all.map(({ name }) => name)).toEqual(byBytes);
      const within = await store.list({ bucket, prefix: 'a/', countMax: 100 });
      expect(within.map(({ name }) => name)).toEqual(['a/10', 'a/2', 'a/é', 'a/\uffee', 'a/\u{1f600}']);
    });

    it('lists at most the requested count, and continues after a name', async () => {
      for (const name of ['p/1', 'p/2', 'p/3', 'q']) {
        await write(name, { bucket, name });
      }
      const first = await store.list({ bucket, prefix: 'p/', countMax: 2 });
      expect(first.map(({ name }) => name)).toEqual(['p/1', 'p/2']);
      const rest = await store.list({ bucket, prefix: 'p/', countMax: 2, after: 'p/2' });
      expect(rest.map(({ name }) => name)).toEqual(['p/3']);
    });

    it('lists the live generation of every object once', async () => {
      await write('old');
      const info = await write('new');
      expect(await store.list({ bucket, prefix: 'a/', countMax: 10 })).toEqual([info]);
    });

    it.each([
      'ünïcode/日本.txt',
      'with space',
      'a/../b',
      'a%2Fb',
      'q?x=1&y#frag',
      '+plus+',
      'a//b/',
      '"quoted"\\',
      'x'.repeat(1_024),
    ])('keeps the name %j exactly', async (name) => {
      await write('named', { bucket, name });
      expect((await store.stat({ bucket, name }))?.name).toBe(name);
      expect((await store.list({ bucket, prefix: '', countMax: 10 })).map((info) => info.name)).toEqual([name]);
      expect(await readText({ bucket, name })).toBe('named');
    });

    it.each([
      ['empty', ''],
      ['over 1,024 bytes', 'é'.repeat(513)],
      ['with a line break', 'a\nb'],
    ])('rejects an invalid name: %s', async (_, name) => {
      await expect(store.write({ bucket, name }, Buffer.from('x'))).rejects.toThrow(/name/i);
    });

    it('returns values for missing objects and buckets', async () => {
      const nowhere = { bucket: `${bucket}-missing`, name: 'x' };
      expect(await store.hasBucket(bucket)).toBe(true);
      expect(await store.hasBucket(nowhere.bucket)).toBe(false);
      expect(await store.locateBucket(bucket)).not.toBe('MISSING');
      expect(await store.locateBucket(nowhere.bucket)).toBe('MISSING');
      expect(await store.stat(object)).toBeUndefined();
      expect(await store.read(object)).toBeUndefined();
      expect(await store.stat(nowhere)).toBeUndefined();
      expect(await store.read(nowhere)).toBeUndefined();
      expect(await store.write(nowhere, Buffer.from('x'))).toBe('NO_BUCKET');
      expect(await store.list({ bucket, prefix: 'nothing/', countMax: 10 })).toEqual([]);
    });
  });
}

function written(outcome: Awaited<ReturnType<ObjectStore['write']>>): ObjectInfo {
  if (typeof outcome === 'string') {
    throw new Error(`The write was answered with ${outcome}.`);
  }
  return outcome;
}

function base64OfCrc(crc32c: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32c);
  return bytes.toString('base64');
}
