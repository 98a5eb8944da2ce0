import { refusalOf } from '#infra/embedded/compute-engine/vms/admission.ts';
import { reset, restart } from '#infra/embedded/compute-engine/vms/boot.ts';
import {
  type Fleet,
  findNamed,
  observeAll,
  occupancyOf,
  occupiedZonesOf,
} from '#infra/embedded/compute-engine/vms/fleet.ts';
import { change, type Machine } from '#infra/embedded/compute-engine/vms/machine.ts';
import { readSerialPort } from '#infra/embedded/compute-engine/vms/process.ts';
import { type VmRecord, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { crash, halt, observe, preempt } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { Vm, VmRequest } from '#shared/ports/vm-provider.ts';

export type ZoneDescription = {
  readonly name: string;
  readonly vms: number;
  readonly vmsMax: number;
  readonly isStockedOut: boolean;
};

/** What may be changed about a VM while it runs. */
export type VmDescription = Partial<Pick<VmRequest, 'metadata' | 'labels' | 'jobId' | 'attempt' | 'role' | 'index'>>;

export type VmPlace = Pick<VmRequest, 'vmName' | 'zone'>;

/** What only an embedded cloud can do, so that failures can be played through. Answers undefined when no such VM runs. */
export type VmAdmin = {
  /** Gives notice; the VM ends when that is over. */
  preempt(vmName: string): Promise<Vm | undefined>;
  /** A reboot on the same disk. */
  reset(vmName: string, zone?: string): Promise<Vm | undefined>;
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
  /** Replaces what is given, and wakes those on the VM who wait for a change; undefined when there is no such VM. */
  describe(vm: VmPlace, part: VmDescription): VmRecord | undefined;
  /** Shuts the VM down, with time to save something, and keeps its disk. It answers when the VM has ended. */
  stop(vm: VmPlace): Promise<void>;
  /** Boots a VM that has ended, on the disk that it had; answers why there is no room for it, if there is none. */
  start(vm: VmPlace): Promise<VmCreateFailure | undefined>;
};

export function createVmAdmin(fleet: Fleet): VmAdmin {
  async function act(
    { vmName, zone }: Partial<VmPlace>,
    action: (machine: Machine) => void | Promise<void>,
  ): Promise<Vm | undefined> {
    const machine = [...fleet.machines].find(
      (candidate) =>
        candidate.record.request.vmName === vmName &&
        (zone ?? candidate.record.request.zone) === candidate.record.request.zone &&
        observe(candidate).status === 'RUNNING',
    );
    if (machine === undefined) {
      return undefined;
    }
    await action(machine);
    return vmOf(machine.record);
  }

  return {
    preempt: (vmName) => act({ vmName }, preempt),
    reset: (vmName, zone) => act(zone === undefined ? { vmName } : { vmName, zone }, reset),
    hostError: (vmName) => act({ vmName }, crash),
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
    describe(vm, part) {
      const machine = findNamed(fleet, vm);
      if (machine !== undefined) {
        change(machine, { request: { ...machine.record.request, ...part } });
        machine.server?.notifyChange();
      }
      return machine?.record;
    },
    async stop(vm) {
      const machine = findNamed(fleet, vm);
      await (machine && halt(machine));
    },
    start: (vm) => startAgain(fleet, vm),
  };
}

async function startAgain(fleet: Fleet, vm: VmPlace): Promise<VmCreateFailure | undefined> {
  const named = findNamed(fleet, vm);
  // A stop that was asked for before ends first.
  await named?.tail;
  const python = named && (await fleet.findPython(named.record.request.machineImage));
  // From here to the change of the record nothing is waited for: two VMs cannot take the same place.
  if (named === undefined || observe(named).status !== 'TERMINATED') {
    return undefined;
  }
  const { projectId } = fleet.identity;
  const failure = refusalOf(named.record.request, { ...occupancyOf(fleet), projectId, python });
  if (failure === undefined) {
    await restart(named);
  }
  return failure;
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
