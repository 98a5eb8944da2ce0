import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import { describeObjectStoreContract } from '../contract/object-store.contract.ts';
import { openCloudStorage } from '../support/embedded/cloud-storage-under-test.ts';

describeObjectStoreContract('Cloud Storage', async () => {
  const server = await openCloudStorage();
  const storage = openStorage({ apiEndpoint: server.origin(), projectId: 'dropforge-local' });
  return {
    store: createStorageObjectStore(storage),
    makeBucket: async (name) => void (await storage.createBucket(name)),
    close: () => server.close(),
  };
});
