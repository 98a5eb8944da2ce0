import type { Settings } from '#functions/settings.ts';
import { connectComputeClients } from '#infra/google-cloud/compose/compute-clients.ts';
import { createComputeVmRemoval } from '#infra/google-cloud/compute-engine/compute-vm-removal.ts';
import type { VmRemoval } from '#shared/ports/vm-provider.ts';

/** VMs of Compute Engine, for the one function that deletes what no job owns. */
export function connectVmRemoval(settings: Settings<'PROJECT_ID' | 'COMPUTE_ENDPOINT'>): VmRemoval {
  return createComputeVmRemoval({ ...connectComputeClients(settings), projectId: settings.PROJECT_ID });
}
