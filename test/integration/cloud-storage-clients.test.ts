import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Bucket, Storage } from '@google-cloud/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudStorageUnderTest, openCloudStorage } from '../support/embedded/cloud-storage-under-test.ts';

const MIB = 1_048_576;

let server: CloudStorageUnderTest;
let files: string;

beforeAll(async () => {
  server = await openCloudStorage();
  files = await mkdtemp(join(tmpdir(), 'dropforge-files-'));
});
afterAll(async () => {
  await server.close();
  await rm(files, { recursive: true });
});

describe('@google-cloud/storage', () => {
  let bucket: Bucket;

  beforeAll(async () => {
    const storage = new Storage({ apiEndpoint: server.origin(), projectId: 'p' });
    [bucket] = await storage.createBucket('node-bucket');
  });

  it('saves and downloads, with its own checksum checks on', async () => {
    const file = bucket.file('dir/ä #1?.txt');
    await file.save('content', {
      resumable: false,
      validation: 'crc32c',
      metadata: { contentType: 'text/x', metadata: { a: 'b' } },
    });
    const [metadata] = await file.getMetadata();
    expect(metadata).toMatchObject({ name: 'dir/ä #1?.txt', size: '7', contentType: 'text/x', metadata: { a: 'b' } });
    const [bytes] = await file.download({ validation: 'md5' });
    expect(bytes.toString()).toBe('content');
  });

  it('uploads 50 MB in chunks, and streams ranges of them', async () => {
    const content = randomBytes(50 * MIB);
    await writeFile(join(files, 'fifty'), content);
    const options = { destination: 'fifty', resumable: true, chunkSize: 10 * MIB, validation: 'md5' } as const;
    const [fifty] = await bucket.upload(join(files, 'fifty'), options);
    const ranges = [{}, { start: 5 * MIB, end: 6 * MIB - 1 }, { start: 50 * MIB - 7 }, { end: -1_000 }];
    const read = await Promise.all(ranges.map((range) => buffer(fifty.createReadStream(range))));
    const expected = [content, content.subarray(5 * MIB, 6 * MIB), content.subarray(-7), content.subarray(-1_000)];
    expect(read.map((bytes, index) => bytes.equals(expected[index] ?? Buffer.of()))).toEqual(ranges.map(() => true));
    await expect(buffer(fifty.createReadStream({ start: 50 * MIB }))).rejects.toMatchObject({ code: 416 });
  });

  it.each([undefined, MIB])(
    'uploads resumably with a chunk size of %s, and in streams of unknown size',
    async (chunkSize) => {
      const content = randomBytes(2.5 * MIB);
      const path = join(files, 'source');
      await writeFile(path, content);
      const options = { resumable: true, validation: 'crc32c', ...(chunkSize && { chunkSize }) } as const;
      const [uploaded] = await bucket.upload(path, { destination: 'resumable', ...options });
      await new Promise((resolve, reject) => {
        bucket.file('streamed').createWriteStream(options).on('finish', resolve).on('error', reject).end(content);
      });
      expect((await uploaded.download())[0].equals(content)).toBe(true);
      expect((await bucket.file('streamed').download())[0].equals(content)).toBe(true);
      expect((await uploaded.download({ start: 10, end: 19 }))[0].equals(content.subarray(10, 20))).toBe(true);
    },
  );

  it('lists by glob', async () => {
    const names = ['g/a.txt', 'g/b.csv', 'g/.hidden', 'g/deep/a.txt', 'g/deep/er/c.txt'];
    for (const name of names) {
      await bucket.file(name).save('', { resumable: false });
    }
    const listed = async (matchGlob: string, options = {}) =>
      (await bucket.getFiles({ matchGlob, ...options }))[0].map(({ name }) => name);
    expect(await listed('g/*')).toEqual(['g/.hidden', 'g/a.txt', 'g/b.csv']);
    expect(await listed('g/**.txt')).toEqual(['g/a.txt', 'g/deep/a.txt', 'g/deep/er/c.txt']);
    expect(await listed('g/**/a.txt')).toEqual(['g/a.txt', 'g/deep/a.txt']);
    expect(await listed('g/?.{csv,t?t}')).toEqual(['g/a.txt', 'g/b.csv']);
    expect(await listed('g/[!b].*')).toEqual(['g/a.txt']);
    expect(await listed('**/[b-c].*', { prefix: 'g/deep/' })).toEqual(['g/deep/er/c.txt']);
  });

  it('shows the storage class that an object was created with, and rewritten to', async () => {
    const file = bucket.file('classy');
    await file.save('x', { resumable: false, metadata: { storageClass: 'COLDLINE' } });
    expect((await file.getMetadata())[0].storageClass).toBe('COLDLINE');
    await file.setStorageClass('nearline');
    expect((await file.getMetadata())[0].storageClass).toBe('NEARLINE');
    await expect(file.setStorageClass('fast')).rejects.toThrow('must be one of STANDARD, NEARLINE');
  });

  it('lists in pages and by directory', async () => {
    for (const name of ['l/1', 'l/2', 'l/sub/3', 'l/sub/4']) {
      await bucket.file(name).save('', { resumable: false });
    }
    const [page, next] = await bucket.getFiles({ prefix: 'l/', maxResults: 3, autoPaginate: false });
    const [rest] = await bucket.getFiles(next ?? {});
    expect(page.map((file) => file.name)).toEqual(['l/1', 'l/2', 'l/sub/3']);
    expect(rest.map((file) => file.name)).toEqual(['l/sub/4']);
    expect((await bucket.getFiles({ prefix: 'l/' }))[0].map((file) => file.name)).toEqual([
      'l/1',
      'l/2',
      'l/sub/3',
      'l/sub/4',
    ]);
    const [direct, , json] = await bucket.getFiles({ prefix: 'l/', delimiter: '/', autoPaginate: false });
    expect(direct.map((file) => file.name)).toEqual(['l/1', 'l/2']);
    expect(json).toMatchObject({ prefixes: ['l/sub/'] });
  });

  it('copies, moves, composes, patches and deletes', async () => {
    const [one, two] = [bucket.file('one'), bucket.file('two')];
    await one.save('1', { resumable: false, metadata: { metadata: { keep: 'k', drop: 'd' } } });
    await one.copy(two);
    const [combined] = await bucket.combine([one, two], 'combined');
    expect((await combined.download())[0].toString()).toBe('11');
    const [composed] = await combined.getMetadata();
    expect([composed.componentCount, composed.size, composed.md5Hash]).toEqual([2, '2', undefined]);
    await two.setMetadata({ contentType: 'text/new', metadata: { drop: null, add: 'a' } });
    expect((await two.getMetadata())[0]).toMatchObject({
      contentType: 'text/new',
      metageneration: '2',
      metadata: { keep: 'k', add: 'a' },
    });
    await two.move('three');
    expect(await Promise.all([one, two, bucket.file('three')].map(async (file) => (await file.exists())[0]))).toEqual([
      true,
      false,
      true,
    ]);
    await one.delete();
    await expect(one.getMetadata()).rejects.toMatchObject({ code: 404 });
  });

  it('receives an error for a precondition that does not hold', async () => {
    const file = bucket.file('once', { preconditionOpts: { ifGenerationMatch: 0 } } as object);
    const options = { resumable: false, preconditionOpts: { ifGenerationMatch: 0 } };
    await file.save('first', options);
    await expect(file.save('second', options)).rejects.toMatchObject({ code: 412 });
  });

  it('moves an object atomically, and only if no object has the new name', async () => {
    const [from, existing] = [bucket.file('from'), bucket.file('existing')];
    await from.save('moved', { resumable: false, metadata: { contentType: 'text/x', metadata: { a: 'b' } } });
    await existing.save('there', { resumable: false });
    const onlyNew = { preconditionOpts: { ifGenerationMatch: 0 } };
    await expect(from.moveFileAtomic(existing, onlyNew)).rejects.toMatchObject({ code: 412 });
    await expect(from.moveFileAtomic('from')).rejects.toMatchObject({ code: 400 });
    await expect(bucket.file('none').moveFileAtomic('new')).rejects.toMatchObject({ code: 404 });
    await from.moveFileAtomic('to', onlyNew);
    const to = bucket.file('to');
    expect((await to.getMetadata())[0]).toMatchObject({ contentType: 'text/x', metadata: { a: 'b' }, size: '5' });
    expect((await to.download())[0].toString()).toBe('moved');
    expect([await from.exists(), (await existing.download())[0].toString()]).toEqual([[false], 'there']);
  });

  it('receives the codes of Cloud Storage for missing objects, failed preconditions and long names', async () => {
    const file = bucket.file('guarded');
    await file.save('x', { resumable: false });
    const missing = bucket.file('missing');
    const elsewhere = new Storage({ apiEndpoint: server.origin(), projectId: 'p' }).bucket('never-made');
    const attempts = [
      [() => missing.download(), 404],
      [() => missing.delete(), 404],
      [() => missing.copy('copy'), 404],
      [() => bucket.combine([file, missing], 'both'), 404],
      [() => elsewhere.getFiles(), 404],
      [() => elsewhere.file('x').save('x', { resumable: true }), 404],
      [() => file.delete({ ifGenerationMatch: 1 }), 412],
      [() => file.setMetadata({ contentType: 'a/b' }, { ifMetagenerationMatch: 7 }), 412],
      [() => file.copy('guarded', { preconditionOpts: { ifGenerationMatch: 0 } }), 412],
      [() => bucket.file('ü'.repeat(513)).save('x', { resumable: false }), 400],
      [() => bucket.setLabels({ a: 'b' }), 405],
    ] as const;
    const codes = await Promise.all(
      attempts.map(([attempt]) =>
        attempt().then(
          () => 200,
          (error: { readonly code: unknown }) => error.code,
        ),
      ),
    );
    expect(codes).toEqual(attempts.map(([, code]) => code));
    await missing.delete({ ignoreNotFound: true });
    const [{ generation }] = await file.getMetadata();
    await file.delete({ ifGenerationMatch: Number(generation) });
    expect(await file.exists()).toEqual([false]);
  });

  it('works with STORAGE_EMULATOR_HOST only', async () => {
    const script = `
      import { Storage } from '@google-cloud/storage';
      const bucket = new Storage({ projectId: 'p' }).bucket('node-bucket');
      await bucket.file('by-environment').save('found', { resumable: false });
      process.stdout.write((await bucket.file('by-environment').download())[0]);`;
    const env = { ...process.env, STORAGE_EMULATOR_HOST: server.origin() };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env });
    expect(stdout).toBe('found');
  });
});
