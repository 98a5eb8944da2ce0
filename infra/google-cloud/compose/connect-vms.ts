import type { Settings } from '#functions/settings.ts';
import { connectComputeClients } from '#infra/google-cloud/compose/compute-clients.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { vmPlaceSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import type { VmCreation } from '#shared/ports/vm-provider.ts';

type OwnSettings = Settings<
  | 'PROJECT_ID'
  | 'COMPUTE_ENDPOINT'
  | 'SUBNETWORK'
  | 'VM_SERVICE_ACCOUNT'
  | 'RUNTIME_IMAGES'
  | 'SECURE_BOOT'
  | 'DISK_KMS_KEY'
>;

/** VMs of Compute Engine, for the one function that makes them. */
export function connectVms(settings: OwnSettings): VmCreation {
  const { PROJECT_ID, SUBNETWORK, VM_SERVICE_ACCOUNT, RUNTIME_IMAGES, SECURE_BOOT, DISK_KMS_KEY } = settings;
  const place = {
    projectId: PROJECT_ID,
    subnetwork: SUBNETWORK,
    serviceAccount: VM_SERVICE_ACCOUNT,
    hasSecureBoot: SECURE_BOOT,
    diskKmsKey: DISK_KMS_KEY ?? null,
  };
  return createComputeVmProvider({
    ...connectComputeClients(settings),
    place: vmPlaceSchema.parse(place),
    images: RUNTIME_IMAGES,
  });
}
