import { reset } from '#infra/embedded/vms/vm-booting.ts';
import { crash, observe, preempt } from '#infra/embedded/vms/vm-ending.ts';
import { type Fleet, findNamed, observeAll, occupiedZonesOf } from '#infra/embedded/vms/vm-fleet.ts';
import { change, type Machine } from '#infra/embedded/vms/vm-machine.ts';
import { readSerialPort } from '#infra/embedded/vms/vm-process.ts';
import { type VmRecord, vmOf } from '#infra/embedded/vms/vm-table.ts';
import type { Vm, VmRequest } from '#shared/ports/vm-provider.ts';

export type ZoneDescription = {
  readonly name: string;
  readonly vms: number;
  readonly vmsMax: number;
  readonly isStockedOut: boolean;
};

/** What only an embedded cloud can do, so that failures can be played through. Answers undefined when no such VM runs. */
export type VmAdmin = {
  /** Gives notice; the VM ends when that is over. */
  preempt(vmName: string): Promise<Vm | undefined>;
  /** A reboot on the same disk. */
  reset(vmName: string): Promise<Vm | undefined>;
  /** The host dies. */
  hostError(vmName: string): Promise<Vm | undefined>;
  /** False when there is no such zone. */
  setStockout(zone: string, isStockedOut: boolean): boolean;
  /** The last that the VM wrote to its standard output and error, also when it has ended. */
  serialPort(vmName: string, zone?: string): Promise<string | undefined>;
  describeZones(): readonly ZoneDescription[];
  /** All that is known of every VM, also of those that are not Dropforge's. */
  listRecords(): readonly VmRecord[];
  listMachineImages(): readonly string[];
  /** Replaces all attributes, and wakes those on the VM who wait for a change; undefined when there is no such VM. */
  setMetadata(vm: Pick<VmRequest, 'vmName' | 'zone'>, metadata: VmRequest['metadata']): VmRecord | undefined;
};

export function createVmAdmin(fleet: Fleet): VmAdmin {
  async function act(name: string, action: (machine: Machine) => void | Promise<void>): Promise<Vm | undefined> {
    const machine = [...fleet.machines].find(
      (candidate) => candidate.record.request.vmName === name && observe(candidate).status === 'RUNNING',
    );
    if (machine === undefined) {
      return undefined;
    }
    await action(machine);
    return vmOf(machine.record);
  }

  return {
    preempt: (vmName) => act(vmName, preempt),
    reset: (vmName) => act(vmName, reset),
    hostError: (vmName) => act(vmName, crash),
    setStockout(zone, isStockedOut) {
      const isKnown = fleet.config.zones.some(({ name }) => name === zone);
      if (isKnown) {
        fleet.table.setStockout(zone, isStockedOut);
      }
      return isKnown;
    },
    async serialPort(vmName, zone) {
      const machine = [...fleet.machines].find(
        ({ record: { request } }) => request.vmName === vmName && (zone === undefined || request.zone === zone),
      );
      return machine && readSerialPort(machine.directory);
    },
    describeZones: () => describeZones(fleet),
    listRecords: () => observeAll(fleet),
    listMachineImages: () => fleet.config.machineImages.map(({ name }) => name),
    setMetadata(vm, metadata) {
      const machine = findNamed(fleet, vm);
      if (machine !== undefined) {
        change(machine, { request: { ...machine.record.request, metadata } });
        machine.server?.notifyChange();
      }
      return machine?.record;
    },
  };
}

function describeZones(fleet: Fleet): readonly ZoneDescription[] {
  const occupied = occupiedZonesOf(fleet);
  const stockouts = fleet.table.listStockouts();
  return fleet.config.zones.map(({ name, vmsMax }) => ({
    name,
    vms: occupied.filter((zone) => zone === name).length,
    vmsMax,
    isStockedOut: stockouts.includes(name),
  }));
}
