import type { Occupancy } from '#infra/embedded/compute-engine/vms/admission.ts';
import { hasCapacity } from '#infra/embedded/compute-engine/vms/admission.ts';
import { start } from '#infra/embedded/compute-engine/vms/boot.ts';
import type { DiskGuard } from '#infra/embedded/compute-engine/vms/disk-guard.ts';
import type { FaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import type { Machine, MachineContext } from '#infra/embedded/compute-engine/vms/machine.ts';
import { runInBackground, updateRecord } from '#infra/embedded/compute-engine/vms/machine.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { observe } from '#infra/embedded/compute-engine/vms/termination.ts';

/** All VMs of an embedded cloud, and their shared context. */
export type Fleet = MachineContext & {
  readonly machines: Set<Machine>;
  readonly disk: DiskGuard;
  readonly stockouts: FaultyZones;
};

export function findNamed(fleet: Fleet, vm: { readonly vmName: string; readonly zone: string }): Machine | undefined {
  return [...fleet.machines].find(
    ({ record: { request } }) => request.vmName === vm.vmName && request.zone === vm.zone,
  );
}

export function observeAll(fleet: Fleet): readonly VmRecord[] {
  return [...fleet.machines].map(observe);
}

/** The zone of each VM that uses capacity: all but those that have ended or wait for capacity. */
function occupiedZonesOf(fleet: Fleet): readonly string[] {
  return observeAll(fleet)
    .filter(({ status }) => status !== 'TERMINATED' && status !== 'PENDING')
    .map(({ request }) => request.zone);
}

export function occupancyOf(fleet: Fleet): Occupancy {
  return {
    config: fleet.config,
    occupiedZones: occupiedZonesOf(fleet),
    stockouts: fleet.stockouts.list(),
    isDiskLow: fleet.disk.isLow(),
  };
}

/** Starts VMs that wait for capacity, as far as there is any, in the order of their requests. */
export function startPendingVms(fleet: Fleet): void {
  const now = fleet.clock.now();
  for (const machine of fleet.machines) {
    const { status, request } = machine.record;
    if (status === 'PENDING' && machine.destroying === null && hasCapacity(request.zone, occupancyOf(fleet))) {
      updateRecord(machine, { status: 'STARTING', deleteAt: now + request.maxRunSeconds * 1_000 });
      runInBackground(machine, start(machine));
    }
  }
}
