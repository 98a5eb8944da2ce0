import type { Settings } from '#functions/settings.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';

/** Cloud Storage, whose client reads STORAGE_EMULATOR_HOST from the environment itself. */
export function connectObjects({ PROJECT_ID: projectId }: Settings<'PROJECT_ID'>): ObjectStore {
  return createStorageObjectStore(openStorage({ projectId }));
}
