import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { packageSourceOf, SMALL_PACKAGE_BYTES } from '#shared/package/archive/package-source.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf, TRAINER, tarGzOf, tarOf, zipOf } from '../../support/package/build-archives.ts';

describe('a package source in a bucket', () => {
  let directory: string;
  let database: ReturnType<typeof openDatabase>;
  let objects: ReturnType<typeof openDirectoryObjectStore>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dropforge-package-'));
    database = openDatabase(join(directory, 'state.sqlite'));
    objects = openDirectoryObjectStore({
      database,
      directory: join(directory, 'objects'),
      clock: Date,
      onFinalized: () => {},
    });
    objects.createBucket('uploads');
  });

  afterEach(async () => {
    database.close();
    await rm(directory, { recursive: true });
  });

  async function upload(name: string, bytes: Uint8Array) {
    const info = await objects.write({ bucket: 'uploads', name }, bytes);
    if (typeof info === 'string') {
      throw new Error(`The upload was rejected: ${info}.`);
    }
    return info;
  }

  it.each([
    ['incoming/trainer-1.0.tar.gz', tarGzOf(TRAINER)],
    ['incoming/trainer-1.0.zip', zipOf(TRAINER)],
  ])('reads all bytes and ranges: %s', async (name, bytes) => {
    const source = packageSourceOf(objects, await upload(name, bytes));
    expect(await inspectPackage(source, { module: 'trainer.task' })).toMatchObject({ problems: [], name: 'trainer' });
  });

  it.each([
    ['trainer-1.0.tar.gz', tarGzOf(TRAINER)],
    ['trainer-1.0.zip', zipOf(TRAINER)],
  ])('fetches a small package once: %s', async (name, bytes) => {
    const info = await upload(name, bytes);
    let fetches = 0;
    const counted: typeof objects = {
      ...objects,
      read(...given) {
        fetches += 1;
        return objects.read(...given);
      },
    };
    await inspectPackage(packageSourceOf(counted, info));
    expect(fetches).toBe(1);
  });

  it.each([
    ['trainer-1.0.tar.gz', tarGzOf([...TRAINER, { path: 'trainer-1.0/noise', data: noiseOf(SMALL_PACKAGE_BYTES) }])],
    ['trainer-1.0.zip', zipOf([...TRAINER, { path: 'trainer-1.0/noise', data: noiseOf(SMALL_PACKAGE_BYTES) }])],
  ])('streams a large package: %s', async (name, bytes) => {
    const source = packageSourceOf(objects, await upload(name, bytes));
    expect(source.readWhole).toBeUndefined();
    expect(await inspectPackage(source)).toMatchObject({ problems: [], name: 'trainer' });
  });

  it.each<[string, Buffer]>([
    ['valid', tarGzOf(TRAINER)],
    [
      'in several members',
      Buffer.concat([tarOf(TRAINER).subarray(0, 700), tarOf(TRAINER).subarray(700)].map((part) => gzipSync(part))),
    ],
    ['with trailing bytes', Buffer.concat([tarGzOf(TRAINER), Buffer.from('something else')])],
    ['truncated', tarGzOf(TRAINER).subarray(0, -20)],
    ['with an invalid checksum', Buffer.concat([tarGzOf(TRAINER).subarray(0, -8), Buffer.alloc(8)])],
    ['without an end-of-archive marker', gzipSync(tarOf(TRAINER).subarray(0, -1_024))],
    ['that is not a tar', gzipSync('a text and no archive '.repeat(100))],
    ['empty', gzipSync(Buffer.alloc(1_024))],
    [
      'that inflates to a hundred times its size',
      tarGzOf([...TRAINER, { path: 'trainer-1.0/zeros', data: '0'.repeat(2_000_000) }]),
    ],
    ['with a path outside the archive', tarGzOf([{ path: '../evil.py', data: '' }])],
  ])('gives the same result from memory and from a stream for a tar.gz %s', async (_what, bytes) => {
    const held = packageSourceOf(objects, await upload('trainer-1.0.tar.gz', bytes));
    const streamed = sourceOf('trainer-1.0.tar.gz', bytes);
    // Without its functions.
    const dataOf = (report: object) => Object.entries(report).filter(([, value]) => typeof value !== 'function');
    expect(dataOf(await inspectPackage(held))).toEqual(dataOf(await inspectPackage(streamed)));
  });

  it('throws if the object ends early', async () => {
    const info = await upload('trainer-1.0.tar.gz', tarGzOf(TRAINER));
    const short = { ...objects, read: async () => Readable.from([tarGzOf(TRAINER).subarray(0, 100)]) };
    await expect(inspectPackage(packageSourceOf(short, info))).rejects.toThrow('ended after 100 of');
  });

  it('reads the pinned generation after a newer upload', async () => {
    const info = await upload('t.zip', zipOf(TRAINER));
    await upload('t.zip', Buffer.from('something else'));
    const { problems } = await inspectPackage(packageSourceOf(objects, info));
    expect(problems).toEqual([]);
  });

  it('throws if the object was deleted, rather than reporting a problem of the package', async () => {
    const info = { ...(await upload('t.zip', zipOf(TRAINER))), generation: '1' };
    await expect(inspectPackage(packageSourceOf(objects, info))).rejects.toThrow('gs://uploads/t.zip#1 was deleted');
  });
});

/** Text that does not compress to less than `sizeBytes`. */
function noiseOf(sizeBytes: number): string {
  return randomBytes(sizeBytes).toString('base64');
}
