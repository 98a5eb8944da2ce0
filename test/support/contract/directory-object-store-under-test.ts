import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';
import { openDirectoryObjectStore } from '../../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import type { ObjectInfo, ObjectStore } from '../../../shared/ports/object-store.ts';

export const bucket = 'uploads';
export const object = { bucket, name: 'model/weights.bin' };

/** A directory for each test of a file, in which stores are opened, also several at the same time. */
export function makeDirectoryForEachTest() {
  let directory: string;
  const clock = { ms: 0, now: (): number => clock.ms };
  const finalized: ObjectInfo[] = [];
  const opened: { close(): void }[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dropforge-objects-'));
    clock.ms = 1_000_000;
    finalized.splice(0);
  });
  afterEach(async () => {
    for (const database of opened.splice(0)) {
      database.close();
    }
    await rm(directory, { recursive: true });
  });

  function open(objectBytesMax = 100) {
    const database = openDatabase(join(directory, 'state.sqlite'));
    opened.push(database);
    const store = openDirectoryObjectStore({
      database,
      directory,
      clock,
      onFinalized: (info) => void finalized.push(info),
      objectBytesMax,
    });
    store.createBucket(bucket);
    return { store, database };
  }

  const countBlobs = async () => (await readdir(join(directory, 'blobs'))).length;
  return { directory: () => directory, clock, finalized, open, countBlobs };
}

export async function write(store: ObjectStore, content: string, target = object): Promise<ObjectInfo> {
  const outcome = await store.write(target, Buffer.from(content));
  if (typeof outcome === 'string') {
    throw new Error(outcome);
  }
  return outcome;
}

export async function readText(store: ObjectStore, generation?: string): Promise<string | undefined> {
  const bytes = await store.read(object, generation === undefined ? {} : { generation });
  return bytes && (await text(bytes));
}
