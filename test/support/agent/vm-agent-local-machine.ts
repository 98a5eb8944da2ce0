import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cloud } from './vm-agent-cloud.ts';

const STARTUP_SCRIPT = new URL('../../../infra/vm-agent/startup.sh', import.meta.url).pathname;
const SHUTDOWN_SCRIPT = new URL('../../../infra/vm-agent/shutdown.sh', import.meta.url).pathname;

/** Creates a machine with its own disk, and with `poweroff` replaced by a command that records the call. */
export async function createMachine(cloud: Cloud) {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-vm-agent-'));
  const poweredOff = join(folder, 'powered-off');
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'poweroff'), `#!/bin/sh\n: > '${poweredOff}'\n`);
  await chmod(join(bin, 'poweroff'), 0o755);
  await writeFile(join(bin, 'systemctl'), '#!/bin/sh\necho "$SYSTEMD_JOBS"\n');
  await chmod(join(bin, 'systemctl'), 0o755);
  const environment = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    GCE_METADATA_HOST: cloud.url.slice('http://'.length),
    DROPFORGE_HOME: join(folder, 'home'),
  };
  const booted: ChildProcess[] = [];

  return {
    home: join(folder, 'home'),
    /** Puts a shell script on the machine's PATH. */
    async install(name: string, script: string): Promise<void> {
      await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(bin, name), 0o755);
    },
    /** Runs the startup script, as a boot of the VM does. */
    boot(more: Readonly<Record<string, string>> = {}) {
      const child = spawn('bash', [STARTUP_SCRIPT], { detached: true, env: { ...environment, ...more } });
      for (const output of [child.stdout, child.stderr]) {
        output.resume();
        if (process.env.VM_AGENT_TEST_OUTPUT !== undefined) {
          output.pipe(process.stderr);
        }
      }
      booted.push(child);
      return child;
    },
    /** Closes the startup script's output, as when the guest environment's process that runs the script ends. */
    stopReadingOutput() {
      for (const { stdout, stderr } of booted) {
        stdout?.destroy();
        stderr?.destroy();
      }
    },
    /** Runs the shutdown script to its end, as systemd does when it stops the guest environment's services. */
    async stopServices(jobs: 'shutdown.target start waiting' | 'No jobs running.'): Promise<void> {
      this.stopReadingOutput();
      const env = { ...environment, SYSTEMD_JOBS: jobs };
      await once(spawn('bash', [SHUTDOWN_SCRIPT], { stdio: ['ignore', 'inherit', 'inherit'], env }), 'exit');
    },
    isPoweredOff: () => existsSync(poweredOff),
    /** Kills everything that runs on the machine, the program included. */
    cutPower() {
      for (const { pid, exitCode, signalCode } of booted) {
        if (pid !== undefined && exitCode === null && signalCode === null) {
          killTree(pid);
        }
      }
    },
    async remove() {
      this.cutPower();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

export type Machine = Awaited<ReturnType<typeof createMachine>>;

function killTree(pid: number): void {
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const parents = listing
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const tree = new Set([pid]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const [child, parent] of parents) {
      if (child !== undefined && parent !== undefined && tree.has(parent)) {
        tree.add(child);
      }
    }
  }
  for (const member of tree) {
    try {
      process.kill(member, 'SIGKILL');
    } catch (error) {
      // It may have ended with its parent.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) {
        throw error;
      }
    }
  }
}
