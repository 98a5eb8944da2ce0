import { reset } from '#infra/embedded/compute-engine/vms/boot.ts';
import { type Fleet, observeAll } from '#infra/embedded/compute-engine/vms/fleet.ts';
import type { Machine } from '#infra/embedded/compute-engine/vms/machine.ts';
import { readSerialPort } from '#infra/embedded/compute-engine/vms/process.ts';
import { vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { crash, maintain, observe, preempt } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

export type VmAdmin = ReturnType<typeof createVmAdmin>;

/**
 * Operations of an embedded cloud beyond the port, among them fault injection. Those on a VM return undefined if no VM
 * of this name is running.
 */
export function createVmAdmin(fleet: Fleet) {
  const findRunning = (vmName: string) =>
    [...fleet.machines].find(
      (machine) => machine.record.request.vmName === vmName && observe(machine).status === 'RUNNING',
    );

  const act =
    (action: (machine: Machine) => void | Promise<void>) =>
    async (vmName: string): Promise<Vm | undefined> => {
      const machine = findRunning(vmName);
      if (machine === undefined) {
        return undefined;
      }
      await action(machine);
      return vmOf(machine.record);
    };

  return {
    /** Sends the preemption notice; the VM is deleted when the notice period is over. */
    preempt: act(preempt),
    /** Sends a notice of host maintenance; the VM is deleted when it is over. */
    maintain: act(maintain),
    /** Reboots the VM on the same disk. */
    reset: act(reset),
    /** Simulates a host error: kills all processes of the VM. */
    hostError: act(crash),
    /** The folder of a VM that is running. */
    locate(vmName: string) {
      const machine = findRunning(vmName);
      return machine && { directory: machine.directory, instanceId: machine.record.instanceId };
    },
    setStockout: fleet.stockouts.set,
    /** The most recent output of the VM (stdout and stderr), also after it has ended. */
    async serialPort(vmName: string): Promise<string | undefined> {
      const machine = [...fleet.machines].find(({ record }) => record.request.vmName === vmName);
      return machine && readSerialPort(machine.directory);
    },
    /** The names of all zones. */
    listZones: () => fleet.config.zones.map(({ name }) => name),
    /** The records of all VMs, including those not created by Dropforge. */
    listRecords: () => observeAll(fleet),
    listMachineImages: () => fleet.config.machineImages.map(({ name }) => name),
  };
}
