import { setTimeout as delay } from 'node:timers/promises';
import { change, inBackground, inTurn, type Machine, treeOf } from '#infra/embedded/compute-engine/vms/machine.ts';
import { removeDisk } from '#infra/embedded/compute-engine/vms/process.ts';
import { isAlive, killTree, signalGroup } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import { type VmRecord, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';

const STOP_POLL_MS = 5;

/** The VM's record, after a look at whether its first process still lives: when it does not, the VM has ended itself. */
export function observe(machine: Machine): VmRecord {
  const { record, context } = machine;
  if (record.status === 'RUNNING' && !context.closing.aborted && !hasLivingLeader(record)) {
    change(machine, { status: 'TERMINATED' });
    inBackground(machine, record.isPreempted ? destroy(machine) : inTurn(machine, () => cleanAfterEnd(machine)));
  }
  return machine.record;
}

/** Stops what lives of the VM, then forgets it. Asked for twice, it is done once. */
export function destroy(machine: Machine): Promise<void> {
  machine.destroying ??= inTurn(machine, () => destroyNow(machine)).catch((error: unknown) => {
    machine.destroying = null;
    throw error;
  });
  return machine.destroying;
}

/** The notice of a preemption; the end follows when it is over, or when the VM has powered itself off. */
export function preempt(machine: Machine): void {
  const { clock, config } = machine.context;
  const endsAt = clock.now() + config.preemptionNoticeMs;
  change(machine, { isPreempted: true, deleteAt: Math.min(machine.record.deleteAt, endsAt) });
  machine.server?.notifyChange();
}

/** The host dies, and with it everything on the VM at once. */
export async function crash(machine: Machine): Promise<void> {
  change(machine, { status: 'TERMINATED' });
  await killTree(treeOf(machine));
  await machine.context.onInterrupted(vmOf(machine.record), 'compute.instances.hostError');
}

/**
 * Shuts the VM down as its user's wish, not as an accident: nobody is told, and it can be started again on the same
 * disk. What was asked for before comes first, and of what that has ended nothing is left to do.
 */
export function halt(machine: Machine): Promise<void> {
  return inTurn(machine, async () => {
    const { status, isHalting = false } = observe(machine);
    if (status !== 'RUNNING' && !isHalting) {
      return;
    }
    change(machine, { status: 'STOPPING', isHalting: true });
    try {
      await stop(machine);
    } catch (error) {
      // What has become of it, the next look at it says.
      change(machine, { status: 'RUNNING', isHalting: false });
      throw error;
    }
    change(machine, { status: 'TERMINATED', isHalting: false });
  });
}

/** Begins what is due: the end of the VM's time, or another try to end it. */
export function endWhenDue(machine: Machine): void {
  const now = machine.context.clock.now();
  const { status, deleteAt, isHalting = false } = observe(machine);
  const isDue = now >= deleteAt || (status === 'STOPPING' && !isHalting);
  if (isDue && machine.destroying === null && now >= machine.retryAt) {
    inBackground(machine, destroy(machine));
  }
}

async function destroyNow(machine: Machine): Promise<void> {
  const { context, directory } = machine;
  change(machine, { status: 'STOPPING', isHalting: false });
  await stop(machine);
  await machine.server?.close();
  machine.server = null;
  if (machine.record.isPreempted) {
    await context.onInterrupted(vmOf(machine.record), 'compute.instances.preempted');
  }
  await removeDisk(directory);
  context.closing.throwIfAborted();
  context.table.remove(machine.record.instanceId);
  context.onGone(machine);
}

/** SIGTERM to the VM's process group; SIGKILL to everything when the first process has ended or the grace is over. */
async function stop(machine: Machine): Promise<void> {
  const { clock, config, closing } = machine.context;
  const { leader } = machine.record;
  if (leader !== null) {
    signalGroup(leader, 'SIGTERM');
  }
  const killAt = clock.now() + config.stopGraceMs;
  while (hasLivingLeader(machine.record) && clock.now() < killAt) {
    await delay(STOP_POLL_MS, undefined, { signal: closing });
  }
  await killTree(treeOf(machine));
}

async function cleanAfterEnd(machine: Machine): Promise<void> {
  await killTree(treeOf(machine));
  await machine.context.onInterrupted(vmOf(machine.record), 'compute.instances.guestTerminate');
}

function hasLivingLeader({ leader }: VmRecord): boolean {
  return leader !== null && isAlive(leader);
}
