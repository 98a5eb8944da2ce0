import { createProvision } from '#functions/provision.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectVms } from '#infra/google-cloud/compose/connect-vms.ts';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('provision', ({ settings, logger }) => {
  const ports = { ...connectEvents(settings), vms: connectVms(settings), logger };
  const vmSettings = readVmSettings(settings);
  return async (event) => createProvision({ ...ports, vmSettings: await vmSettings })(event);
});
