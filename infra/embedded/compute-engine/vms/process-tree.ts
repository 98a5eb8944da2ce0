import { setTimeout as delay } from 'node:timers/promises';
import {
  bootOf,
  listProcesses,
  type ProcessInfo,
  readProcessStart,
} from '#infra/embedded/compute-engine/vms/process-list.ts';

/** Identifies a process; distinguishes it from a later process with the same pid. */
export type ProcessKey = { readonly pid: number; readonly start: string };

/** The processes of a VM: the descendants of its first process, even if they have detached. */
export type ProcessTree = {
  /** Null if it is not known whether a first process was started. */
  readonly leader: ProcessKey | null;
  /** Strings in a process's `description` that identify it as the VM's. */
  readonly marks: readonly string[];
};

/** Limit for killing a tree: a process that outlives it hangs in the kernel and cannot be killed. */
const KILL_MS_MAX = 5_000;
const KILL_ROUND_MS = 20;

export function isAlive({ pid, start }: ProcessKey): boolean {
  return readProcessStart(pid) === start;
}

/**
 * The running processes of a tree: the leader's group and session, every process with a mark, and their descendants. On
 * Linux a process escapes only with a new session, a new parent and a cleared environment, all three.
 */
async function listTree(tree: ProcessTree): Promise<readonly ProcessInfo[]> {
  const processes = (await listProcesses()).filter(({ pid }) => pid !== process.pid);
  const group = groupOf(tree.leader, processes);
  const members = new Set(processes.filter((info) => isMarked(info, tree.marks) || isIn(info, group)));
  const byParent = Map.groupBy(processes, ({ parentPid }) => parentPid);
  for (const member of members) {
    for (const child of byParent.get(member.pid) ?? []) {
      members.add(child);
    }
  }
  return [...members];
}

/** The process of the tree with this pid; null if there is none. */
export async function findInTree(tree: ProcessTree, pid: number): Promise<ProcessKey | null> {
  const member = (await listTree(tree)).find((info) => info.pid === pid);
  return member === undefined ? null : { pid, start: member.start };
}

/** Sends a signal to the leader's process group, if the leader is running. */
export function signalGroup(leader: ProcessKey, signal: NodeJS.Signals): void {
  if (isAlive(leader)) {
    sendSignal(-leader.pid, signal);
  }
}

/** Sends a signal to one process, if it is running. */
export function signalProcess(key: ProcessKey, signal: NodeJS.Signals): void {
  if (isAlive(key)) {
    sendSignal(key.pid, signal);
  }
}

/** Kills the tree repeatedly until it is empty, including processes forked meanwhile. Throws after KILL_MS_MAX. */
export async function killTree(tree: ProcessTree): Promise<void> {
  // Listed before the first kill: an orphaned child can no longer be found as a descendant.
  let members = await listTree(tree);
  if (tree.leader !== null) {
    signalGroup(tree.leader, 'SIGKILL');
  }
  const roundsMax = KILL_MS_MAX / KILL_ROUND_MS;
  for (let round = 0; round < roundsMax; round++) {
    if (members.length === 0) {
      return;
    }
    for (const { pid } of members) {
      sendSignal(pid, 'SIGKILL');
    }
    await delay(KILL_ROUND_MS);
    members = await listTree(tree);
  }
  const pids = members.map(({ pid }) => pid);
  if (pids.length > 0) {
    throw new Error(
      `Processes ${pids.join(', ')} are still running ${KILL_MS_MAX} ms after SIGKILL. The kill is retried.`,
    );
  }
}

/**
 * A process group reserves its leader's pid while it has members. So an unrelated process with that pid, or another
 * boot of the machine, means that the group is empty.
 */
function groupOf(leader: ProcessKey | null, processes: readonly ProcessInfo[]): ProcessKey | null {
  const holder = processes.find(({ pid }) => pid === leader?.pid);
  return holder === undefined || holder.start === leader?.start ? leader : null;
}

function isIn({ groupId, sessionId, start }: ProcessInfo, group: ProcessKey | null): boolean {
  return group !== null && (groupId === group.pid || sessionId === group.pid) && bootOf(start) === bootOf(group.start);
}

function isMarked({ description }: ProcessInfo, marks: readonly string[]): boolean {
  return marks.some((mark) => description.includes(mark));
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has exited, or belongs to another user; the next listing shows which.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) {
      throw error;
    }
  }
}
