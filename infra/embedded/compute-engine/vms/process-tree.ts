import { setTimeout as delay } from 'node:timers/promises';
import {
  bootOf,
  listProcesses,
  type ProcessInfo,
  readProcessStart,
} from '#infra/embedded/compute-engine/vms/process-list.ts';

/** A process that cannot be mistaken for a later one with the same pid. */
export type ProcessKey = { readonly pid: number; readonly start: string };

/** What belongs to a VM: the processes that its first one has begun, however they have tried to leave it. */
export type ProcessTree = {
  /** Null when it is not known whether a first process was begun. */
  readonly leader: ProcessKey | null;
  /** Text in a process's `description` that marks it as the VM's. */
  readonly marks: readonly string[];
};

/** How long killing may take: beyond it a process hangs in the kernel, and nobody can end it. */
const KILL_MS_MAX = 5_000;
const KILL_ROUND_MS = 20;

export function isAlive({ pid, start }: ProcessKey): boolean {
  return readProcessStart(pid) === start;
}

/**
 * The living processes of a tree: the leader's group and session, everything that carries the mark, and their
 * descendants. On Linux a process gets away only by a new session, a new parent and a cleared environment all together.
 */
export async function listTree(tree: ProcessTree): Promise<readonly ProcessInfo[]> {
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

/** The process of the tree that has this pid, or null when it has none such. */
export async function findInTree(tree: ProcessTree, pid: number): Promise<ProcessKey | null> {
  const member = (await listTree(tree)).find((info) => info.pid === pid);
  return member === undefined ? null : { pid, start: member.start };
}

/** To the leader's whole process group, while the leader lives. */
export function signalGroup(leader: ProcessKey, signal: NodeJS.Signals): void {
  if (isAlive(leader)) {
    sendSignal(-leader.pid, signal);
  }
}

/** Kills the tree until nothing of it lives, also what forks meanwhile. Throws when something outlives KILL_MS_MAX. */
export async function killTree(tree: ProcessTree): Promise<void> {
  // Listed before anything dies: a child whose parents are gone is nobody's descendant any more.
  let members = await listTree(tree);
  if (tree.leader !== null) {
    signalGroup(tree.leader, 'SIGKILL');
  }
  const triesMax = KILL_MS_MAX / KILL_ROUND_MS;
  for (let tries = 0; tries < triesMax; tries++) {
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
    throw new Error(`Processes ${pids.join(', ')} outlived SIGKILL for ${KILL_MS_MAX} ms. They are tried again.`);
  }
}

/**
 * A group keeps its leader's pid from being given away while anyone is in it. So a stranger under that pid, or another
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
    // It has ended by itself, or was taken over by another user; the next listing says which.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) {
      throw error;
    }
  }
}
