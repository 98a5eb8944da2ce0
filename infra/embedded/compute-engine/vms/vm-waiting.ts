import { hasRoom } from '#infra/embedded/compute-engine/vms/vm-admission.ts';
import { start } from '#infra/embedded/compute-engine/vms/vm-boot.ts';
import { type Fleet, occupancyOf } from '#infra/embedded/compute-engine/vms/vm-fleet.ts';
import { change, inBackground } from '#infra/embedded/compute-engine/vms/vm-machine.ts';

/** Starts the VMs that wait for capacity, as far as there is room, in the order in which they were asked for. */
export function startWaiting(fleet: Fleet): void {
  const now = fleet.clock.now();
  for (const machine of fleet.machines) {
    const { status, request } = machine.record;
    if (status === 'PENDING' && machine.destroying === null && hasRoom(request.zone, occupancyOf(fleet))) {
      change(machine, { status: 'STARTING', deleteAt: now + request.maxRunSeconds * 1_000 });
      inBackground(machine, start(machine));
    }
  }
}
