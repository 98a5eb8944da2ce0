import { text } from 'node:stream/consumers';
import * as z from 'zod';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { Logger } from '#shared/observability/logger.ts';

export type CacheLimits = {
  readonly bucket: string;
  readonly bytesMax: number;
  /** As the lifecycle rule of a deployment's bucket. */
  readonly ageMsMax: number;
};

const PAGE_COUNT = 1_000;
const TRIM_INTERVAL_MS = 10_000;
/** Parts without a manifest for longer were left behind by a VM that has ended. */
const STORING_MS_MAX = 3_600_000;

/** How an agent names the manifest of an entry (vm_agent/cache/location.py). */
const MANIFEST = /\/entries\/[^/]+$/;
const partsSchema = z.object({ parts: z.array(z.tuple([z.string(), z.number()])) });

/**
 * Deletes the objects of a cache that are too old. Above the limit, it keeps what is being stored and the newest
 * entries, each with all of its parts. Manifests are deleted first: a crash leaves parts, and no entry that lacks some.
 */
export async function trimCache(store: EmbeddedObjectStore, limits: CacheLimits, now: number): Promise<void> {
  const newestFirst = [...listObjects(store, limits.bucket)].sort((a, b) => b.createdAt - a.createdAt);
  const left = newestFirst.filter(({ createdAt }) => now - createdAt <= limits.ageMsMax);
  const tooOld = newestFirst.slice(left.length);
  const isTooLarge = sizeOf(left) > limits.bytesMax;
  for (const object of [...tooOld, ...(isTooLarge ? await findExcess(store, left, { ...limits, now }) : [])]) {
    const { bucket, name, generation } = object;
    await store.remove({ bucket, name }, { generation, preconditions: {} });
  }
}

/** The objects to delete, manifests before their parts. */
async function findExcess(
  store: EmbeddedObjectStore,
  newestFirst: readonly StoredObject[],
  { bytesMax, now }: { readonly bytesMax: number; readonly now: number },
): Promise<readonly StoredObject[]> {
  const entries = await readEntries(store, newestFirst);
  const ofEntries = new Set(entries.flatMap(({ objects }) => objects));
  const others = newestFirst.filter((object) => !ofEntries.has(object));
  const kept = new Set<StoredObject>();
  let keptBytes = 0;
  const keepIfPossible = (objects: readonly StoredObject[]) => {
    const added = objects.filter((object) => !kept.has(object));
    if (keptBytes + sizeOf(added) <= bytesMax) {
      keptBytes += sizeOf(added);
      added.forEach((object) => void kept.add(object));
    }
  };
  const beingStored = others.filter(({ createdAt }) => now - createdAt < STORING_MS_MAX);
  const complete = entries.filter(({ isComplete }) => isComplete).map(({ objects }) => objects);
  for (const objects of [...beingStored.map((object) => [object]), ...complete, ...others.map((object) => [object])]) {
    keepIfPossible(objects);
  }
  const [manifests, rest] = [true, false].map((is) => newestFirst.filter(({ name }) => MANIFEST.test(name) === is));
  return [...(manifests ?? []), ...(rest ?? [])].filter((object) => !kept.has(object));
}

type Entry = { readonly objects: readonly StoredObject[]; readonly isComplete: boolean };

/** The entries, newest first: each manifest with those of its parts that exist. */
async function readEntries(store: EmbeddedObjectStore, newestFirst: readonly StoredObject[]): Promise<Entry[]> {
  const byName = new Map(newestFirst.map((object) => [object.name, object]));
  const entries: Entry[] = [];
  for (const manifest of newestFirst.filter(({ name }) => MANIFEST.test(name))) {
    const names = await readPartNames(store, manifest);
    const parts = [...new Set(names)].map((name) => byName.get(name));
    const found = parts.filter((part) => part !== undefined);
    entries.push({ objects: [manifest, ...found], isComplete: found.length === parts.length });
  }
  return entries;
}

/** The names of an entry's parts; empty if it is not a valid manifest. */
async function readPartNames(store: EmbeddedObjectStore, { bucket, name }: StoredObject): Promise<readonly string[]> {
  const body = await store.read({ bucket, name });
  const manifest = partsSchema.safeParse(body && parseJson(await text(body)));
  const folder = name.replace(MANIFEST, '/parts/');
  return manifest.success ? manifest.data.parts.map(([sha256]) => folder + sha256) : [];
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const sizeOf = (objects: readonly StoredObject[]): number =>
  objects.reduce((total, { sizeBytes }) => total + sizeBytes, 0);

/** Trims the cache now and periodically. A failure is logged; the next interval tries again. */
export function startCacheTrimming(
  store: EmbeddedObjectStore,
  limits: CacheLimits,
  logger: Logger,
): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  const trim = () => {
    running ??= trimCache(store, limits, Date.now())
      .catch((error) => logger.log('ERROR', 'the cache of packages could not be trimmed', { problem: String(error) }))
      .finally(() => {
        running = undefined;
      });
  };
  trim();
  const timer = setInterval(trim, TRIM_INTERVAL_MS);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

function* listObjects(store: EmbeddedObjectStore, bucket: string): Generator<StoredObject> {
  const query = { bucket, prefix: '', countMax: PAGE_COUNT, isWithNoncurrent: true };
  let page = store.page(query);
  yield* page.objects;
  while (page.nextPosition !== null) {
    page = store.page({ ...query, after: page.nextPosition });
    yield* page.objects;
  }
}
