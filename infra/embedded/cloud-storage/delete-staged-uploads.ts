import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { ListQuery } from '#infra/embedded/cloud-storage/store/object-listing.ts';
import { STAGING_FOLDER } from '#shared/use-cases/submission/staged-upload.ts';

/** The age of the lifecycle rule in terraform/modules/storage/buckets.tf. */
const AGE_MS_MAX = 2 * 86_400_000;
const PAGE_COUNT = 1_000;
/** The limit of one run, which must not keep the process busy; the next one continues. */
const DELETED_COUNT_MAX = 20_000;

/** Deletes uploads through the API that were not started in time, page by page, up to a limit. */
export async function deleteStagedUploads(
  store: EmbeddedObjectStore,
  { bucket, now, pageCount = PAGE_COUNT, deletedCountMax = DELETED_COUNT_MAX }: Deletion,
): Promise<void> {
  let after: ListQuery['after'];
  let leftCount = deletedCountMax;
  do {
    const query = { bucket, prefix: STAGING_FOLDER, countMax: pageCount, isWithNoncurrent: true, after };
    const { objects, nextPosition } = store.page(query);
    const expired = objects.filter(({ createdAt }) => now - createdAt > AGE_MS_MAX).slice(0, leftCount);
    for (const { name, generation } of expired) {
      await store.remove({ bucket, name }, { generation, preconditions: {} });
    }
    leftCount -= expired.length;
    after = nextPosition ?? undefined;
  } while (after !== undefined && leftCount > 0);
}

type Deletion = {
  readonly bucket: string;
  readonly now: number;
  readonly pageCount?: number;
  readonly deletedCountMax?: number;
};
