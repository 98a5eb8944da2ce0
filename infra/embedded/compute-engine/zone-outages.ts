import type { FaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import { IncompleteListError, type VmProvider } from '#shared/ports/vm-provider.ts';

/** The VMs as the functions see them: those of an unreachable zone are not listed, and requests for them fail. */
export function withOutages(vms: VmProvider, outages: FaultyZones): VmProvider {
  const reach = <Vm extends { readonly zone: string }>(vm: Vm): Vm => {
    if (outages.list().includes(vm.zone)) {
      throw new Error(`Zone ${vm.zone} is unreachable. Retry the request.`);
    }
    return vm;
  };
  return {
    create: async (request) => vms.create(reach(request)),
    findShortage: async (requests) => vms.findShortage(requests.map(reach)),
    find: async (vm) => vms.find(reach(vm)),
    delete: async (vm, options) => vms.delete(reach(vm), options),
    async list(query) {
      const unreachable = outages.list();
      const listed = await vms.list(query);
      if (unreachable.length === 0) {
        return listed;
      }
      throw new IncompleteListError(
        unreachable,
        listed.filter(({ zone }) => !unreachable.includes(zone)),
      );
    },
  };
}
