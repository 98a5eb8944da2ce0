import { createTeardown } from '#functions/teardown.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectVmRemoval } from '#infra/google-cloud/compose/connect-vm-removal.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('teardown', ({ settings, logger }) =>
  createTeardown({ ...connectEvents(settings), vms: connectVmRemoval(settings), logger }),
);
