import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
