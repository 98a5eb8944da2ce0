import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { Logger } from '#shared/observability/logger.ts';
import { STAGING_FOLDER } from '#shared/use-cases/submission/staged-upload.ts';

/** As the lifecycle rule in terraform/modules/storage/buckets.tf. */
const AGE_MS_MAX = 2 * 86_400_000;
const INTERVAL_MS = 3_600_000;
const PAGE_COUNT = 1_000;

/** Deletes uploads through the API that were not started in time. */
export async function deleteStagedUploads(store: EmbeddedObjectStore, bucket: string, now: number): Promise<void> {
  const { objects } = store.page({ bucket, prefix: STAGING_FOLDER, countMax: PAGE_COUNT, isWithNoncurrent: true });
  for (const { name, generation, createdAt } of objects) {
    if (now - createdAt > AGE_MS_MAX) {
      await store.remove({ bucket, name }, { generation, preconditions: {} });
    }
  }
}

/** Deletes them now and periodically. A failure is logged; the next interval tries again. */
export function startDeletingStagedUploads(
  store: EmbeddedObjectStore,
  bucket: string,
  logger: Logger,
): { stop(): Promise<void> } {
  let running = Promise.resolve();
  const run = () => {
    running = deleteStagedUploads(store, bucket, Date.now()).catch((error: unknown) =>
      logger.log('ERROR', 'uploads that were not started could not be deleted', { problem: String(error) }),
    );
  };
  run();
  const timer = setInterval(run, INTERVAL_MS);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
