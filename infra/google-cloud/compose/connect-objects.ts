import type { Settings } from '#functions/settings.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';

/** Objects in Cloud Storage; the library itself looks for its emulator. */
export function connectObjects({ PROJECT_ID: projectId }: Settings<'PROJECT_ID'>): ObjectStore {
  return createStorageObjectStore(openStorage({ projectId }));
}
