import {
  change,
  inBackground,
  inTurn,
  type Machine,
  openMetadata,
  treeOf,
} from '#infra/embedded/compute-engine/vms/machine.ts';
import { bootVm, prepareBoot, readLeaderPid, removeDisk } from '#infra/embedded/compute-engine/vms/process.ts';
import { findInTree, isAlive, killTree, type ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import { crash, destroy, halt, observe } from '#infra/embedded/compute-engine/vms/termination.ts';

/** The first boot. A VM that cannot be started is removed again, and the reason thrown. */
export function start(machine: Machine): Promise<void> {
  return inTurn(machine, async () => {
    try {
      await openMetadata(machine);
      await boot(machine);
    } catch (error) {
      await killTree(treeOf(machine));
      await machine.server?.close();
      await forget(machine);
      throw error;
    }
  });
}

/** A reboot on the same disk, without warning: the startup script runs again. */
export function reset(machine: Machine): Promise<void> {
  return inTurn(machine, () => reboot(machine));
}

/** A VM that has ended boots again on the same disk, and its longest run begins anew. Until it does, it takes up room. */
export function restart(machine: Machine): Promise<void> {
  const { clock } = machine.context;
  const deleteAt = clock.now() + machine.record.request.maxRunSeconds * 1_000;
  change(machine, { status: 'STARTING', deleteAt });
  return inTurn(machine, () => reboot(machine));
}

async function reboot(machine: Machine): Promise<void> {
  change(machine, { status: 'STARTING' });
  try {
    await openMetadata(machine);
    await killTree(treeOf(machine));
    await boot(machine);
  } catch (error) {
    change(machine, { status: 'TERMINATED' });
    throw error;
  }
}

/** Finds what a cloud that died has left of this VM, and takes it on. */
export async function resume(machine: Machine): Promise<void> {
  const { status, leader, isHalting = false } = machine.record;
  if (status === 'PENDING') {
    return;
  }
  if (status === 'STOPPING') {
    inBackground(machine, isHalting ? halt(machine) : destroy(machine));
    return;
  }
  const living = status === 'TERMINATED' ? null : await findLivingLeader(machine);
  if (living !== null) {
    change(machine, { leader: living, status: 'RUNNING' });
    await openMetadataAgain(machine);
  } else if (leader === null) {
    await killTree(treeOf(machine));
    await forgetUnborn(machine);
  } else if (status === 'TERMINATED') {
    await killTree(treeOf(machine));
  } else {
    change(machine, { status: 'RUNNING' });
    observe(machine);
  }
}

async function boot(machine: Machine): Promise<void> {
  const { context, record, directory } = machine;
  const { machineImage, metadata } = record.request;
  const python = await context.findPython(machineImage);
  if (python === undefined) {
    throw new Error(`The interpreter of machine image ${machineImage} is gone. Install it again.`);
  }
  const { instanceId, metadataPort } = machine.record;
  const startupScript = metadata['startup-script'] ?? '';
  const plan = { directory, instanceId, metadataPort, startupScript, python, host: context.host };
  await prepareBoot(plan);
  await bootVm(plan, {
    onSpawned: (leader) => change(machine, { leader, status: 'RUNNING' }),
    onEnded: () => void observe(machine),
  });
}

/** The first process is known by its record; when the cloud died before it could write that, by what the VM wrote itself. */
async function findLivingLeader(machine: Machine): Promise<ProcessKey | null> {
  const { leader } = machine.record;
  if (leader !== null && isAlive(leader)) {
    return leader;
  }
  const pid = await readLeaderPid(machine.directory);
  return pid === null ? null : findInTree({ ...treeOf(machine), leader: null }, pid);
}

async function openMetadataAgain(machine: Machine): Promise<void> {
  try {
    await openMetadata(machine);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    machine.context.writeLog(`VM ${machine.record.request.vmName} lost its metadata server and is ended: ${reason}`);
    await crash(machine);
  }
}

/**
 * The cloud died between the record and the first process. A creation that was never answered is asked for again under
 * the same name; whoever has been told that the VM waits for capacity does not ask, and so it goes on waiting.
 */
async function forgetUnborn(machine: Machine): Promise<void> {
  const { request, createdAt } = machine.record;
  if (request.capacityWaitSeconds === null) {
    await forget(machine);
  } else {
    change(machine, { status: 'PENDING', deleteAt: createdAt + request.capacityWaitSeconds * 1_000 });
  }
}

async function forget(machine: Machine): Promise<void> {
  const { context, directory, record } = machine;
  await removeDisk(directory);
  context.table.remove(record.instanceId);
  context.onGone(machine);
}
