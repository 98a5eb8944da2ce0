import { reset } from '#infra/embedded/compute-engine/vms/boot.ts';
import { type Fleet, observeAll } from '#infra/embedded/compute-engine/vms/fleet.ts';
import type { Machine } from '#infra/embedded/compute-engine/vms/machine.ts';
import { readSerialPort } from '#infra/embedded/compute-engine/vms/process.ts';
import { type VmRecord, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { crash, maintain, observe, preempt } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

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
  reset(vmName: string): Promise<Vm | undefined>;
  /** The folder of a VM that is running. */
  locate(vmName: string): { readonly directory: string; readonly instanceId: string } | undefined;
  /** Simulates a host error: kills all processes of the VM. */
  hostError(vmName: string): Promise<Vm | undefined>;
  setStockout(zone: string, isStockedOut: boolean): void;
  /** The most recent output of the VM (stdout and stderr), also after it has ended. */
  serialPort(vmName: string): Promise<string | undefined>;
  /** The names of all zones. */
  listZones(): readonly string[];
  /** The records of all VMs, including those not created by Dropforge. */
  listRecords(): readonly VmRecord[];
  listMachineImages(): readonly string[];
};

export function createVmAdmin(fleet: Fleet): VmAdmin {
  const findRunning = (vmName: string) =>
    [...fleet.machines].find(
      (machine) => machine.record.request.vmName === vmName && observe(machine).status === 'RUNNING',
    );

  async function act(vmName: string, action: (machine: Machine) => void | Promise<void>): Promise<Vm | undefined> {
    const machine = findRunning(vmName);
    if (machine === undefined) {
      return undefined;
    }
    await action(machine);
    return vmOf(machine.record);
  }

  return {
    preempt: (vmName) => act(vmName, preempt),
    maintain: (vmName) => act(vmName, maintain),
    reset: (vmName) => act(vmName, reset),
    locate(vmName) {
      const machine = findRunning(vmName);
      return machine && { directory: machine.directory, instanceId: machine.record.instanceId };
    },
    hostError: (vmName) => act(vmName, crash),
    setStockout: fleet.stockouts.set,
    async serialPort(vmName) {
      const machine = [...fleet.machines].find(({ record }) => record.request.vmName === vmName);
      return machine && readSerialPort(machine.directory);
    },
    listZones: () => fleet.config.zones.map(({ name }) => name),
    listRecords: () => observeAll(fleet),
    listMachineImages: () => fleet.config.machineImages.map(({ name }) => name),
  };
}
