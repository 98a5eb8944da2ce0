import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';

export type CacheLimits = {
  readonly bucket: string;
  readonly bytesMax: number;
  /** The age of the lifecycle rule of a deployment's bucket. */
  readonly ageMsMax: number;
};

const PAGE_COUNT = 1_000;

/** Deletes the objects of a cache that are too old, and the oldest ones above the limit. */
export async function trimCache(store: EmbeddedObjectStore, limits: CacheLimits, now: number): Promise<void> {
  let keptBytes = 0;
  for (const object of [...listObjects(store, limits.bucket)].sort((a, b) => b.createdAt - a.createdAt)) {
    const { bucket, name, generation, sizeBytes, createdAt } = object;
    if (now - createdAt <= limits.ageMsMax && keptBytes + sizeBytes <= limits.bytesMax) {
      keptBytes += sizeBytes;
    } else {
      await store.remove({ bucket, name }, { generation, preconditions: {} });
    }
  }
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
