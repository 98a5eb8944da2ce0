import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openDirectoryObjectStore } from '../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import {
  NONCURRENT_AGE_MS_MAX,
  NONCURRENT_GENERATIONS_MAX,
} from '../../infra/embedded/cloud-storage/store/object-index.ts';
import { openDatabase } from '../../infra/embedded/data-dir/database.ts';
import type { ObjectInfo } from '../../shared/ports/object-store.ts';
import {
  bucket,
  makeDirectoryForEachTest,
  object,
  readText,
  write,
} from '../support/contract/directory-object-store-under-test.ts';
import { describeObjectStoreContract } from './object-store.contract.ts';

describeObjectStoreContract('a directory', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-objects-'));
  const database = openDatabase(join(directory, 'state.sqlite'));
  const store = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
  return {
    store,
    makeBucket: async (name) => void store.createBucket(name),
    async close() {
      database.close();
      await rm(directory, { recursive: true });
    },
  };
});

describe('a directory of objects', () => {
  const { directory, clock, finalized, open, countBlobs } = makeDirectoryForEachTest();

  it('notifies of every finalized object once, in the transaction that makes it visible', async () => {
    const { store, database } = open();
    const info = await write(store, 'new');
    expect(finalized).toEqual([info]);
    await store.write(object, Buffer.from('late'), { ifGeneration: '0' });
    expect(finalized).toHaveLength(1);

    database.sql.exec('create table notices (name text)');
    const notifying = openDirectoryObjectStore({
      database,
      directory: directory(),
      clock,
      onFinalized() {
        database.sql.exec(`insert into notices values ('half')`);
        throw new Error('the notification failed');
      },
    });
    await expect(notifying.write(object, Buffer.from('half'))).rejects.toThrow('the notification failed');
    expect(database.sql.prepare('select * from notices').all()).toEqual([]);
    expect(await store.stat(object)).toEqual(info);
    expect(await countBlobs()).toBe(1);
  });

  it('assigns increasing generations if the clock stops, goes back, or the newest object is deleted', async () => {
    const { store } = open();
    const first = await write(store, '1');
    expect(first.generation).toBe('1000000000');
    clock.ms -= 500_000;
    const second = await write(store, '2');
    await store.remove(object, { generation: second.generation, preconditions: {} });
    const third = await write(open().store, '3');
    expect([second.generation, third.generation]).toEqual(['1000000001', '1000000002']);
  });

  it('keeps the newest ten overwritten and deleted generations readable', async () => {
    const { store } = open();
    const infos: ObjectInfo[] = [];
    for (let index = 0; index < NONCURRENT_GENERATIONS_MAX + 3; index++) {
      infos.push(await write(store, `content ${index}`));
    }
    await store.remove(object, { preconditions: {} });
    expect(await store.stat(object)).toBeUndefined();
    const readable = await Promise.all(infos.map(({ generation }) => readText(store, generation)));
    expect(readable).toEqual([
      undefined,
      undefined,
      undefined,
      ...infos.slice(3).map((_, index) => `content ${index + 3}`),
    ]);
    expect(await countBlobs()).toBe(NONCURRENT_GENERATIONS_MAX);
  });

  it('deletes noncurrent generations of all objects after a day', async () => {
    const { store } = open();
    const old = await write(store, 'old');
    await write(store, 'new');
    clock.ms += NONCURRENT_AGE_MS_MAX + 1;
    await write(store, 'other', { bucket, name: 'other' });
    expect(await store.stat(object, old.generation)).toBeUndefined();
    expect(await readText(store)).toBe('new');
    expect(await countBlobs()).toBe(2);
  });

  it('reads an object to the end if it is deleted during the read', async () => {
    const { store } = open();
    const { generation } = await write(store, 'still here');
    const bytes = await store.read(object);
    await store.remove(object, { generation, preconditions: {} });
    expect(await countBlobs()).toBe(0);
    expect(bytes && (await text(bytes))).toBe('still here');
  });

  it('shares the bytes of copies, and removes them with the last copy', async () => {
    const { store } = open();
    const source = await write(store, 'shared');
    const copy = await store.copy(object, { bucket, name: 'copy' });
    if (typeof copy === 'string') {
      throw new Error(copy);
    }
    expect(await countBlobs()).toBe(1);
    await store.remove(object, { generation: source.generation, preconditions: {} });
    const bytes = await store.read({ bucket, name: 'copy' });
    expect(bytes && (await text(bytes))).toBe('shared');
    await store.remove(copy, { generation: copy.generation, preconditions: {} });
    expect(await countBlobs()).toBe(0);
  });

  it('keeps no bytes of rejected objects', async () => {
    const { store } = open();
    await write(store, 'there');
    expect(await store.write(object, Buffer.from('late'), { ifGeneration: '0' })).toBe('CONFLICT');
    await expect(store.write(object, Buffer.alloc(101))).rejects.toThrow('larger than the limit of 100 bytes');
    const expected = { crc32c: 'AAAAAA==' };
    await expect(store.put(object, Readable.from(['other bytes']), { expected })).rejects.toThrow(
      'The CRC32C in the request is AAAAAA==',
    );
    expect(await readText(store)).toBe('there');
    expect(await countBlobs()).toBe(1);
    expect(await readdir(join(directory(), 'incoming'))).toEqual([]);
  });

  it('deletes a bucket only if it has no live objects', async () => {
    const { store } = open();
    await write(store, 'x');
    expect(await store.deleteBucket(bucket)).toBe('NOT_EMPTY');
    await store.remove(object, { preconditions: {} });
    expect(await store.deleteBucket(bucket)).toBe('DELETED');
    expect(await store.deleteBucket(bucket)).toBe('NO_BUCKET');
    expect(await countBlobs()).toBe(0);
  });

  it('stores the unmodified bytes in one file', async () => {
    const { store } = open();
    await write(store, 'plain');
    const [blob = ''] = await readdir(join(directory(), 'blobs'));
    expect(await readFile(join(directory(), 'blobs', blob), 'utf8')).toBe('plain');
  });
});
