import { createProvision } from '#functions/provision.ts';
import type { SettingsOf } from '#functions/read-settings.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import { connectComputeClients } from '#infra/google-cloud/compose/compute-clients.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { vmDefaultsSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';
import type { VmCreation } from '#shared/ports/vm-provider.ts';

startFunction('provision', ({ settings, logger }) => {
  const objects = createStorageObjectStore(openStorage({ projectId: settings.PROJECT_ID }));
  const ports = { ...connectEvents(settings), vms: connectVms(settings), objects, logger };
  const vmSettings = readVmSettings(settings);
  return async (event) => createProvision({ ...ports, vmSettings: await vmSettings })(event);
});

function connectVms(settings: SettingsOf<'provision'>): VmCreation {
  const defaults = {
    projectId: settings.PROJECT_ID,
    subnetwork: settings.SUBNETWORK,
    serviceAccount: settings.VM_SERVICE_ACCOUNT,
    hasSecureBoot: settings.SECURE_BOOT,
    hasShellAccess: settings.SHELL_ACCESS,
    diskKmsKey: settings.DISK_KMS_KEY ?? null,
  };
  return createComputeVmProvider({
    ...connectComputeClients(settings),
    defaults: vmDefaultsSchema.parse(defaults),
    images: settings.RUNTIME_IMAGES,
  });
}
