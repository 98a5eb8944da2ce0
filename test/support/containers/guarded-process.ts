import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type GuardedProcess = {
  /** The folder of the process, which is removed after its end. */
  readonly folder: string;
  hasEnded(): boolean;
  stop(): Promise<void>;
};

/**
 * The shell ends the program when its stdin ends: with the process that started it, even if that one was killed. Docker
 * leaves a network namespace mounted in its folder.
 */
const GUARD = `
folder="$1"; shift
"$@" >"$folder/log" 2>&1 </dev/null & program=$!
{ cat; kill $program; } <&3 >/dev/null 2>&1 &
wait $program
umount "$folder"/exec/netns/* 2>/dev/null
rm -rf "$folder"
`;

/** Starts a server in a new temporary folder; it ends with this process. */
export async function startGuarded(
  name: string,
  argvOf: (folder: string) => readonly string[] | Promise<readonly string[]>,
): Promise<GuardedProcess> {
  const folder = await mkdtemp(join(tmpdir(), `dropforge-${name}-`));
  const child = spawn('sh', ['-c', GUARD, 'guard', folder, ...(await argvOf(folder))], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    folder,
    hasEnded,
    async stop() {
      child.stdio[3]?.destroy();
      if (!hasEnded()) {
        await once(child, 'exit');
      }
    },
  };
}
