import { countGpus, familyOf, type Machine } from '#shared/catalog/catalog.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';

/**
 * The action on a VM whose host is maintained (Compute API, `scheduling.onHostMaintenance`): Compute Engine
 * migrates it live if it can, which only pauses the program. VMs with GPUs, Spot and Flex-start VMs are terminated.
 */
export function hostMaintenanceOf(machine: Machine, provisioningModel: ProvisioningModel): 'MIGRATE' | 'TERMINATE' {
  const isMigrated = provisioningModel === 'STANDARD' && countGpus(machine) === 0;
  return isMigrated && familyOf(machine.machineType).hostMaintenance !== 'TERMINATE' ? 'MIGRATE' : 'TERMINATE';
}
