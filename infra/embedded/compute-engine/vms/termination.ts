import { setTimeout as delay } from 'node:timers/promises';
import {
  killMachine,
  type Machine,
  runInBackground,
  runInOrder,
  treeOf,
  updateRecord,
} from '#infra/embedded/compute-engine/vms/machine.ts';
import { readAgentPid, removeDisk } from '#infra/embedded/compute-engine/vms/process.ts';
import { findInTree, isAlive, signalGroup, signalProcess } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import { type VmRecord, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';

const STOP_POLL_MS = 5;

/** The VM's record, updated by whether its first process is still running: if not, the VM has ended by itself. */
export function observe(machine: Machine): VmRecord {
  const { record, context } = machine;
  if (record.status === 'RUNNING' && !context.closing.aborted && !isLeaderRunning(record)) {
    updateRecord(machine, { status: 'TERMINATED' });
    runInBackground(
      machine,
      record.isPreempted || record.isMaintained
        ? destroy(machine)
        : runInOrder(machine, () => onGuestTerminated(machine)),
    );
  }
  return machine.record;
}

/** Terminates the VM's processes, then deletes its disk and record. Concurrent calls share one deletion. */
export function destroy(machine: Machine): Promise<void> {
  machine.destroying ??= runInOrder(machine, () => destroyNow(machine)).catch((error: unknown) => {
    machine.destroying = null;
    throw error;
  });
  return machine.destroying;
}

/** Sends the preemption notice; the VM is deleted when the notice period is over or it has powered itself off. */
export function preempt(machine: Machine): void {
  giveNotice(machine, { isPreempted: true });
}

/** Sends the notice of host maintenance, as long as that of a preemption; the VM is deleted when it is over. */
export function maintain(machine: Machine): void {
  giveNotice(machine, { isMaintained: true });
}

function giveNotice(machine: Machine, notice: Pick<Partial<VmRecord>, 'isPreempted' | 'isMaintained'>): void {
  const { clock, config } = machine.context;
  const endsAt = clock.now() + config.preemptionNoticeMs;
  updateRecord(machine, { ...notice, deleteAt: Math.min(machine.record.deleteAt, endsAt) });
  machine.server?.notifyChange();
}

/** Simulates a host error: kills all processes of the VM at once. */
export async function crash(machine: Machine): Promise<void> {
  updateRecord(machine, { status: 'TERMINATED' });
  await killMachine(machine);
  await machine.context.onInterrupted(vmOf(machine.record), 'compute.instances.hostError');
}

/**
 * Has the VM's agent end its program with DISK_FULL: SIGXFSZ needs neither disk space nor a server. Resolves with false
 * if the agent does not run.
 */
export async function endForFullDisk(machine: Machine): Promise<boolean> {
  const pid = await readAgentPid(machine.directory);
  const agent = pid === null ? null : await findInTree(treeOf(machine), pid);
  if (agent !== null) {
    signalProcess(agent, 'SIGXFSZ');
  }
  return agent !== null;
}

/** Starts the deletion if it is due: because `deleteAt` has passed, or to retry a failed one. */
export function destroyWhenDue(machine: Machine): void {
  const now = machine.context.clock.now();
  const { status, deleteAt } = observe(machine);
  const isDue = now >= deleteAt || status === 'STOPPING';
  if (isDue && machine.destroying === null && now >= machine.retryAt) {
    runInBackground(machine, destroy(machine));
  }
}

async function destroyNow(machine: Machine): Promise<void> {
  const { context, directory } = machine;
  updateRecord(machine, { status: 'STOPPING' });
  await stop(machine);
  await machine.server?.close();
  machine.server = null;
  if (machine.record.isPreempted) {
    await context.onInterrupted(vmOf(machine.record), 'compute.instances.preempted');
  } else if (machine.record.isMaintained) {
    await context.onInterrupted(vmOf(machine.record), 'compute.instances.terminateOnHostMaintenance');
  }
  await removeDisk({ directory, instanceId: machine.record.instanceId });
  context.closing.throwIfAborted();
  context.table.remove(machine.record.instanceId);
  context.onRemoved(machine);
}

/**
 * Sends SIGTERM to the VM's process group; SIGKILL to all processes when the first one has exited or the grace period
 * is over.
 */
async function stop(machine: Machine): Promise<void> {
  const { clock, config, closing } = machine.context;
  const { leader } = machine.record;
  if (leader !== null) {
    signalGroup(leader, 'SIGTERM');
  }
  const killAt = clock.now() + config.stopGraceMs;
  while (isLeaderRunning(machine.record) && clock.now() < killAt) {
    await delay(STOP_POLL_MS, undefined, { signal: closing });
  }
  await killMachine(machine);
}

async function onGuestTerminated(machine: Machine): Promise<void> {
  await killMachine(machine);
  await machine.context.onInterrupted(vmOf(machine.record), 'compute.instances.guestTerminate');
}

function isLeaderRunning({ leader }: VmRecord): boolean {
  return leader !== null && isAlive(leader);
}
