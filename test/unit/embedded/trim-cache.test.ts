import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type EmbeddedObjectStore,
  openDirectoryObjectStore,
} from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { trimCache } from '#infra/embedded/cloud-storage/trim-cache.ts';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';

const bucket = 'cache';
const DAY_MS = 86_400_000;

let directory: string;
let database: Database;
let store: EmbeddedObjectStore;
let now = 0;

beforeEach(async () => {
  now = 100 * DAY_MS;
  directory = await mkdtemp(join(tmpdir(), 'dropforge-cache-'));
  database = openDatabase(':memory:');
  store = openDirectoryObjectStore({ database, directory, clock: { now: () => now }, onFinalized: () => undefined });
  store.createBucket(bucket);
  for (const name of ['oldest', 'middle', 'newest']) {
    await store.write({ bucket, name }, Buffer.alloc(10));
    now += DAY_MS;
  }
});

afterEach(async () => {
  database.close();
  await rm(directory, { recursive: true });
});

async function namesAfter(limits: { readonly bytesMax?: number; readonly ageMsMax?: number }) {
  await trimCache(store, { bucket, bytesMax: 1_000, ageMsMax: 1_000 * DAY_MS, ...limits }, now);
  const kept = await store.list({ bucket, prefix: '', countMax: 10 });
  expect(store.measure()).toEqual({ sizeBytes: 10 * kept.length, noncurrentBytes: 0 });
  return kept.map(({ name }) => name).toSorted();
}

it('keeps a cache that is within its limits', async () => {
  expect(await namesAfter({ bytesMax: 30, ageMsMax: 3 * DAY_MS })).toEqual(['middle', 'newest', 'oldest']);
});

it('deletes the oldest objects above the limit on bytes, from the disk too', async () => {
  expect(await namesAfter({ bytesMax: 29 })).toEqual(['middle', 'newest']);
});

it('deletes objects above the limit on their age', async () => {
  expect(await namesAfter({ ageMsMax: 2 * DAY_MS })).toEqual(['middle', 'newest']);
});

it('deletes a single object that exceeds the limit', async () => {
  expect(await namesAfter({ bytesMax: 9 })).toEqual([]);
});

describe('above the limit on bytes', () => {
  /** Stores an entry as an agent does: parts first. */
  async function storeEntry(key: string, parts: readonly string[]): Promise<number> {
    let sizeBytes = 0;
    for (const part of parts) {
      const found = await store.stat({ bucket, name: `p/1/parts/${part}` });
      sizeBytes += found === undefined ? 10 : 0;
      await (found ?? store.write({ bucket, name: `p/1/parts/${part}` }, Buffer.alloc(10)));
      now += 1;
    }
    const manifest = Buffer.from(JSON.stringify({ parts: parts.map((part) => [part, 10]) }));
    await store.write({ bucket, name: `p/1/entries/${key}` }, manifest);
    now += 1;
    return sizeBytes + manifest.length;
  }

  async function keptWith(bytesMax: number): Promise<readonly string[]> {
    await trimCache(store, { bucket, bytesMax, ageMsMax: 1_000 * DAY_MS }, now);
    const kept = await store.list({ bucket, prefix: 'p/', countMax: 20 });
    return kept.map(({ name }) => name.replace('p/1/', '')).toSorted();
  }

  it('keeps whole entries, the newest, with the old parts that they share', async () => {
    await storeEntry('a', ['shared', 'only-a']);
    const size = 10 + (await storeEntry('b', ['shared', 'only-b']));
    expect(await keptWith(size)).toEqual(['entries/b', 'parts/only-b', 'parts/shared']);
  });

  it('keeps the parts of an entry that is being stored rather than an old entry', async () => {
    await storeEntry('a', ['one', 'two']);
    await store.write({ bucket, name: 'p/1/parts/new' }, Buffer.alloc(10));
    expect(await keptWith(30)).toEqual(expect.not.arrayContaining(['entries/a']));
    expect(await keptWith(30)).toContain('parts/new');
  });

  it('deletes an entry that has lost a part, so that it is stored again', async () => {
    const size = await storeEntry('a', ['one', 'two']);
    const lost = store.find({ bucket, name: 'p/1/parts/one' });
    await store.remove({ bucket, name: 'p/1/parts/one' }, { generation: lost?.generation ?? '', preconditions: {} });
    expect(await keptWith(size)).not.toContain('entries/a');
  });
});
