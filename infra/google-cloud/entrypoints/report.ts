import { createReport } from '#functions/report.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('report', ({ settings, logger }) => {
  const objects = createStorageObjectStore(openStorage({ projectId: settings.PROJECT_ID }));
  return createReport({ ...connectState(settings), objects, logger });
});
