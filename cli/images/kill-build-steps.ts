import { setTimeout as delay } from 'node:timers/promises';
import { runTool } from '#cli/images/run-tool.ts';

const END_MS_MAX = 10_000;
const POLL_MS = 100;

/**
 * Kills the commands of RUN below a `podman build`, until it has ended or END_MS_MAX have passed. Podman then fails the
 * build and removes its container; if it is ended by a signal itself, command and container are left.
 */
export async function killBuildSteps(pid: number, hasEnded: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + END_MS_MAX;
  while (!hasEnded() && Date.now() < giveUpAt) {
    for (const step of await findSteps(pid)) {
      try {
        process.kill(step, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    await delay(POLL_MS);
  }
}

type Process = { readonly pid: number; readonly parent: number; readonly session: number };

/** The first processes of containers: descendants with a session of their own. */
async function findSteps(root: number): Promise<readonly number[]> {
  const argv = ['ps', '-A', '-o', 'pid=,ppid=,sid='];
  const listed = await runTool(argv, { signal: AbortSignal.timeout(END_MS_MAX) }).catch(() => undefined);
  const processes = (listed?.stdout ?? '').split('\n').map((line): Process => {
    const [pid = 0, parent = 0, session = 0] = line.trim().split(/\s+/).map(Number);
    return { pid, parent, session };
  });
  const below = new Set([root]);
  const sessionOfRoot = processes.find(({ pid }) => pid === root)?.session;
  if (sessionOfRoot === undefined) {
    return [];
  }
  // A parent can be listed after its child.
  for (let count = 0; count !== below.size; ) {
    count = below.size;
    for (const { pid, parent } of processes) {
      if (below.has(parent)) {
        below.add(pid);
      }
    }
  }
  return processes
    .filter(({ pid, session }) => below.has(pid) && session === pid && session !== sessionOfRoot)
    .map(({ pid }) => pid);
}
