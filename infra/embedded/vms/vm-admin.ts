import { reset } from '#infra/embedded/vms/vm-booting.ts';
import { crash, observe, preempt } from '#infra/embedded/vms/vm-ending.ts';
import { type Fleet, occupiedZonesOf } from '#infra/embedded/vms/vm-fleet.ts';
import type { Machine } from '#infra/embedded/vms/vm-machine.ts';
import { readSerialPort } from '#infra/embedded/vms/vm-process.ts';
import { vmOf } from '#infra/embedded/vms/vm-table.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

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
  serialPort(vmName: string): Promise<string | undefined>;
  describeZones(): readonly ZoneDescription[];
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
    async serialPort(vmName) {
      const machine = [...fleet.machines].find(({ record }) => record.request.vmName === vmName);
      return machine && readSerialPort(machine.directory);
    },
    describeZones: () => describeZones(fleet),
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
