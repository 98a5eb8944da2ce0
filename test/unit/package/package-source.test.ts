import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/database.ts';
import { openDirectoryObjectStore } from '#infra/embedded/objects/directory-object-store.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { packageSourceOf } from '#shared/package/package-source.ts';
import { TRAINER, tarGzOf, zipOf } from './build-archives.ts';

describe('a package in a bucket', () => {
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
      throw new Error(`The upload was refused: ${info}.`);
    }
    return info;
  }

  it.each([
    ['incoming/trainer-1.0.tar.gz', tarGzOf(TRAINER)],
    ['incoming/trainer-1.0.zip', zipOf(TRAINER)],
  ])('is read whole and by ranges: %s', async (name, bytes) => {
    const source = packageSourceOf(objects, await upload(name, bytes));
    expect(await inspectPackage(source, { module: 'trainer.task' })).toMatchObject({ problems: [], name: 'trainer' });
  });

  it('is the generation that was announced, whatever was uploaded since', async () => {
    const info = await upload('t.zip', zipOf(TRAINER));
    await upload('t.zip', Buffer.from('something else'));
    const { problems } = await inspectPackage(packageSourceOf(objects, info));
    expect(problems).toEqual([]);
  });

  it('is a fault of the storage when it is gone, not of the package', async () => {
    const info = { ...(await upload('t.zip', zipOf(TRAINER))), generation: '1' };
    await expect(inspectPackage(packageSourceOf(objects, info))).rejects.toThrow('gs://uploads/t.zip#1 was deleted');
  });
});
