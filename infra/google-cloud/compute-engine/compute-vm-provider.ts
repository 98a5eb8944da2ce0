import { createComputeVmRemoval } from '#infra/google-cloud/compute-engine/compute-vm-removal.ts';
import { type ComputeEngine, createVm } from '#infra/google-cloud/compute-engine/create-vm.ts';
import { findInstance, toVm } from '#infra/google-cloud/compute-engine/read-instance.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';

/** VMs of Compute Engine. A request that was met before is the same request: names and request ids follow from the job. */
export function createComputeVmProvider(engine: ComputeEngine): VmProvider {
  const { instances, operations, place } = engine;
  const { projectId } = place;
  return {
    ...createComputeVmRemoval({ instances, operations, projectId }),
    create: (request) => createVm(engine, request),
    async find(vm) {
      const found = await findInstance({ instances, projectId }, vm);
      return found && toVm(found);
    },
  };
}
