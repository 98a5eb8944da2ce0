import type { Occupancy } from '#infra/embedded/compute-engine/vms/vm-admission.ts';
import { observe } from '#infra/embedded/compute-engine/vms/vm-end.ts';
import type { Machine, MachineContext } from '#infra/embedded/compute-engine/vms/vm-machine.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/vm-table.ts';

/** All VMs of an embedded cloud, and what they share. */
export type Fleet = MachineContext & { readonly machines: Set<Machine> };

export function findNamed(fleet: Fleet, vm: { readonly vmName: string; readonly zone: string }): Machine | undefined {
  return [...fleet.machines].find(
    ({ record: { request } }) => request.vmName === vm.vmName && request.zone === vm.zone,
  );
}

export function observeAll(fleet: Fleet): readonly VmRecord[] {
  return [...fleet.machines].map(observe);
}

/** The zone of each VM that takes up room: all but those that have ended, or wait for room. */
export function occupiedZonesOf(fleet: Fleet): readonly string[] {
  return observeAll(fleet)
    .filter(({ status }) => status !== 'TERMINATED' && status !== 'PENDING')
    .map(({ request }) => request.zone);
}

export function occupancyOf(fleet: Fleet): Occupancy {
  return { config: fleet.config, occupiedZones: occupiedZonesOf(fleet), stockouts: fleet.table.listStockouts() };
}
