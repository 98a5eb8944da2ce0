import { createTeardown } from '#functions/teardown.ts';
import { connectComputeClients } from '#infra/google-cloud/compose/compute-clients.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { createComputeVmRemoval } from '#infra/google-cloud/compute-engine/compute-vm-removal.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('teardown', ({ settings, logger }) => {
  const vms = createComputeVmRemoval({ ...connectComputeClients(settings), projectId: settings.PROJECT_ID });
  return createTeardown({ ...connectEvents(settings), vms, logger });
});
