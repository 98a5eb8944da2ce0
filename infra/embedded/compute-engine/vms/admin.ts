import { findCreateFailure } from '#infra/embedded/compute-engine/vms/admission.ts';
import { reset, restart } from '#infra/embedded/compute-engine/vms/boot.ts';
import {
  type Fleet,
  findNamed,
  observeAll,
  occupancyOf,
  occupiedZonesOf,
} from '#infra/embedded/compute-engine/vms/fleet.ts';
import { type Machine, updateRecord } from '#infra/embedded/compute-engine/vms/machine.ts';
import { readSerialPort } from '#infra/embedded/compute-engine/vms/process.ts';
import { type VmRecord, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { crash, halt, maintain, observe, preempt } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { Vm, VmRequest } from '#shared/ports/vm-provider.ts';

export type ZoneStatus = {
  readonly name: string;
  readonly vms: number;
  readonly vmsMax: number;
  readonly isStockedOut: boolean;
};

/** The fields of a VM that can be changed while it runs. */
export type VmDescription = Partial<Pick<VmRequest, 'metadata' | 'labels' | 'jobId' | 'attempt' | 'role' | 'index'>>;

export type VmName = Pick<VmRequest, 'vmName' | 'zone'>;

/**
 * Operations of an embedded cloud beyond the port, among them fault injection. Return undefined if no such VM is
 * running.
 */
export type VmAdmin = {
  /** Sends the preemption notice; the VM is deleted when the notice period is over. */
  preempt(vmName: string): Promise<Vm | undefined>;
  /** Sends a notice of host maintenance; the VM is deleted when it is over. */
  maintain(vmName: string): Promise<Vm | undefined>;
  /** Reboots the VM on the same disk. */
  reset(vmName: string, zone?: string): Promise<Vm | undefined>;
  /** The folder of a VM that is running. */
  locate(vmName: string): { readonly directory: string; readonly instanceId: string } | undefined;
  /** Simulates a host error: kills all processes of the VM. */
  hostError(vmName: string): Promise<Vm | undefined>;
  /** Returns false if there is no such zone. */
  setStockout(zone: string, isStockedOut: boolean): boolean;
  /** The most recent output of the VM (stdout and stderr), also after it has ended. */
  serialPort(vmName: string, zone?: string): Promise<string | undefined>;
  listZones(): readonly ZoneStatus[];
  /** The records of all VMs, including those not created by Dropforge. */
  listRecords(): readonly VmRecord[];
  listMachineImages(): readonly string[];
  /** Replaces the given fields and wakes requests to the metadata server that wait for a change. */
  describe(vm: VmName, part: VmDescription): VmRecord | undefined;
  /** Shuts the VM down with the stop grace period and keeps its disk. Resolves when the VM has ended. */
  stop(vm: VmName): Promise<void>;
  /** Boots a terminated VM on its existing disk. Returns the failure if there is no capacity. */
  start(vm: VmName): Promise<VmCreateFailure | undefined>;
};

export function createVmAdmin(fleet: Fleet): VmAdmin {
  async function act(
    { vmName, zone }: Partial<VmName>,
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
    maintain: (vmName) => act({ vmName }, maintain),
    reset: (vmName, zone) => act(zone === undefined ? { vmName } : { vmName, zone }, reset),
    locate(vmName) {
      const machine = [...fleet.machines].find(
        (candidate) => candidate.record.request.vmName === vmName && observe(candidate).status === 'RUNNING',
      );
      return machine && { directory: machine.directory, instanceId: machine.record.instanceId };
    },
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
    listZones: () => listZones(fleet),
    listRecords: () => observeAll(fleet),
    listMachineImages: () => fleet.config.machineImages.map(({ name }) => name),
    describe(vm, part) {
      const machine = findNamed(fleet, vm);
      if (machine !== undefined) {
        updateRecord(machine, { request: { ...machine.record.request, ...part } });
        machine.server?.notifyChange();
      }
      return machine?.record;
    },
    async stop(vm) {
      const machine = findNamed(fleet, vm);
      await (machine && halt(machine));
    },
    start: (vm) => startTerminated(fleet, vm),
  };
}

async function startTerminated(fleet: Fleet, vm: VmName): Promise<VmCreateFailure | undefined> {
  const named = findNamed(fleet, vm);
  // A stop requested earlier completes first.
  await named?.lastWork;
  const python = named && (await fleet.findPython(named.record.request.machineImage));
  // No await from here to the change of the record: two VMs cannot use the same capacity.
  if (named === undefined || observe(named).status !== 'TERMINATED') {
    return undefined;
  }
  const { projectId } = fleet.identity;
  const failure = findCreateFailure(named.record.request, { ...occupancyOf(fleet), projectId, python });
  if (failure === undefined) {
    await restart(named);
  }
  return failure;
}

function listZones(fleet: Fleet): readonly ZoneStatus[] {
  const occupied = occupiedZonesOf(fleet);
  const stockouts = fleet.table.listStockouts();
  return fleet.config.zones.map(({ name, vmsMax }) => ({
    name,
    vms: occupied.filter((zone) => zone === name).length,
    vmsMax,
    isStockedOut: stockouts.includes(name),
  }));
}
