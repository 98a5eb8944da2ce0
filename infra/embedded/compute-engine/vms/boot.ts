import { trustDirectoryOf } from '#infra/embedded/compute-engine/vms/environment.ts';
import {
  killMachine,
  type Machine,
  openMetadata,
  runInBackground,
  runInOrder,
  treeOf,
  updateRecord,
} from '#infra/embedded/compute-engine/vms/machine.ts';
import { bootVm, prepareBoot, readLeaderPid, removeDisk } from '#infra/embedded/compute-engine/vms/process.ts';
import { findInTree, isAlive, type ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import { crash, destroy, observe } from '#infra/embedded/compute-engine/vms/termination.ts';
import { renewTrust } from '#infra/embedded/vm-proxy/trust.ts';

/** The first boot. If it fails, the VM is removed and the error rethrown. */
export function start(machine: Machine): Promise<void> {
  return runInOrder(machine, async () => {
    try {
      await openMetadata(machine);
      await boot(machine);
    } catch (error) {
      await killMachine(machine);
      await machine.server?.close();
      await remove(machine);
      throw error;
    }
  });
}

/** Reboots on the same disk without notice; the startup script runs again. */
export function reset(machine: Machine): Promise<void> {
  return runInOrder(machine, () => reboot(machine));
}

async function reboot(machine: Machine): Promise<void> {
  updateRecord(machine, { status: 'STARTING' });
  try {
    await openMetadata(machine);
    await killMachine(machine);
    await boot(machine);
  } catch (error) {
    updateRecord(machine, { status: 'TERMINATED' });
    throw error;
  }
}

/** Recovers the VM after a restart of the cloud, from its record and its running processes. */
export async function resume(machine: Machine): Promise<void> {
  const { status, leader } = machine.record;
  if (status === 'PENDING') {
    return;
  }
  if (status === 'STOPPING') {
    runInBackground(machine, destroy(machine));
    return;
  }
  const running = status === 'TERMINATED' ? null : await findRunningLeader(machine);
  if (running !== null) {
    updateRecord(machine, { leader: running, status: 'RUNNING' });
    await reopenMetadata(machine);
  } else if (leader === null) {
    await killMachine(machine);
    await recoverUnstarted(machine);
  } else if (status === 'TERMINATED') {
    await killMachine(machine);
  } else {
    updateRecord(machine, { status: 'RUNNING' });
    observe(machine);
  }
}

async function boot(machine: Machine): Promise<void> {
  const { context, record, directory } = machine;
  const { machineImage, metadata } = record.request;
  const python = await context.findPython(machineImage);
  if (python === undefined) {
    throw new Error(`The interpreter of machine image ${machineImage} no longer exists. Install it again.`);
  }
  const { instanceId, metadataPort } = machine.record;
  const startupScript = metadata['startup-script'] ?? '';
  const plan = { directory, instanceId, metadataPort, startupScript, python, host: context.host };
  await prepareBoot(plan);
  machine.certificate = await renewTrust(trustDirectoryOf(directory), context.host);
  await bootVm(plan, {
    onSpawned: (leader) => updateRecord(machine, { leader, status: 'RUNNING' }),
    onEnded: () => observeEnd(machine),
  });
}

/** If the record cannot be updated now, because the disk is full, the next check of the VMs does it. */
function observeEnd(machine: Machine): void {
  try {
    observe(machine);
  } catch (error) {
    machine.context.writeLog(`VM ${machine.record.request.vmName} has ended: ${String(error)}`);
  }
}

/** The first process, by the record or, if the cloud crashed before writing that, by the pid file of the VM. */
async function findRunningLeader(machine: Machine): Promise<ProcessKey | null> {
  const { leader } = machine.record;
  if (leader !== null && isAlive(leader)) {
    return leader;
  }
  const pid = await readLeaderPid(machine.directory);
  return pid === null ? null : findInTree({ ...treeOf(machine), leader: null }, pid);
}

async function reopenMetadata(machine: Machine): Promise<void> {
  try {
    await openMetadata(machine);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    machine.context.writeLog(
      `VM ${machine.record.request.vmName} lost its metadata server and is terminated: ${reason}`,
    );
    await crash(machine);
  }
}

/**
 * The cloud crashed between inserting the record and starting the first process. A creation that returned no outcome is
 * retried by its caller under the same name, so the record is removed. A VM reported as PENDING is not requested again,
 * so it keeps waiting for capacity.
 */
async function recoverUnstarted(machine: Machine): Promise<void> {
  const { request, createdAt } = machine.record;
  if (request.capacityWaitSeconds === null) {
    await remove(machine);
  } else {
    updateRecord(machine, { status: 'PENDING', deleteAt: createdAt + request.capacityWaitSeconds * 1_000 });
  }
}

async function remove(machine: Machine): Promise<void> {
  const { context, directory, record } = machine;
  await removeDisk({ directory, instanceId: record.instanceId });
  context.table.remove(record.instanceId);
  context.onRemoved(machine);
}
