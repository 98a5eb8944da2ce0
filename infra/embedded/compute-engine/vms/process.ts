import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { VM_MARK_VARIABLE, vmEnvironmentOf } from '#infra/embedded/compute-engine/vms/environment.ts';
import { readProcessStart } from '#infra/embedded/compute-engine/vms/process-list.ts';
import type { ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import {
  linkTemporaryDirectory,
  unlinkTemporaryDirectory,
} from '#infra/embedded/compute-engine/vms/temporary-directory.ts';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';

/** The serial port log keeps the newest output, between half of this limit and all of it; Compute Engine keeps 1 MB. */
export const SERIAL_PORT_BYTES_MAX = 1_048_576;

/** Timeout for an interpreter to print its path. */
const INTERPRETER_MS_MAX = 10_000;

export type VmBoot = {
  readonly directory: string;
  readonly instanceId: string;
  readonly metadataPort: number;
  readonly startupScript: string;
  /** The interpreter of the machine image, as returned by `findInterpreter`. */
  readonly python: string;
  readonly host: Environment;
};

/**
 * The real path of an interpreter; undefined if there is none. The interpreter itself prints it, because a version
 * manager's shim works only in its user's environment.
 */
export async function findInterpreter(python: string, host: Environment): Promise<string | undefined> {
  try {
    const options = { env: host as NodeJS.ProcessEnv, timeout: INTERPRETER_MS_MAX };
    const { stdout } = await promisify(execFile)(python, ['-c', 'import sys; print(sys.executable)'], options);
    return stdout.trim() === '' ? undefined : stdout.trim();
  } catch {
    // Missing, not executable or not an interpreter: the outcome is the same for requests for this machine image.
    return undefined;
  }
}

/**
 * Strings that identify the processes of a VM: in their environment or, if that is not visible, in their command line.
 * The agent appends `@` and its home directory to the mark of the programs that it starts, to distinguish them from
 * itself.
 */
export function marksOf(vm: Pick<VmBoot, 'instanceId' | 'directory'>): readonly string[] {
  const mark = `\0${VM_MARK_VARIABLE}=${vm.instanceId}`;
  return [`${mark}\0`, `${mark}@`, startupPathOf(vm.directory)];
}

/** Writes the VM's files; data of an earlier boot is kept on the disk. */
export async function prepareBoot({ directory, instanceId, startupScript, python }: VmBoot): Promise<void> {
  for (const name of ['bin', 'disk', 'home']) {
    await mkdir(join(directory, name), { recursive: true });
  }
  await linkTemporaryDirectory({ directory, instanceId });
  await writeFile(startupPathOf(directory), startupScript);
  const runPython = `#!/bin/sh\nexec '${python.replaceAll("'", "'\\''")}' "$@"\n`;
  await writeExecutable(join(directory, 'bin', 'python3'), runPython);
  await writeExecutable(join(directory, 'bin', 'python'), runPython);
  await writeExecutable(join(directory, 'bin', 'poweroff'), POWER_OFF);
}

/**
 * Kills the VM's own process group immediately. The provider kills processes in other groups when it detects that the
 * leader has exited.
 */
const POWER_OFF = '#!/bin/sh\nkill -s KILL -- "-$(cat "$(dirname "$0")/../leader.pid")"\n';

/** The VM ends when its first process ends. The pid file is written before any process can request a power off. */
const BOOT = 'echo "$$" > leader.pid; exec bash "$0"';

/** The pid that the VM's first process has written; null if it has not written it yet. */
export function readLeaderPid(directory: string): Promise<number | null> {
  return readPid(join(directory, 'leader.pid'));
}

/** The pid of the agent, which the startup script has written; null if it has not. */
export function readAgentPid(directory: string): Promise<number | null> {
  return readPid(join(directory, 'disk', 'agent.pid'));
}

async function readPid(path: string): Promise<number | null> {
  const pid = Number.parseInt((await readFile(path, 'utf8').catch(ignoreMissing)) ?? '', 10);
  return Number.isNaN(pid) ? null : pid;
}

/**
 * Starts the VM as the leader of a new session, which outlives the cloud. `onSpawned` is called synchronously after the
 * spawn; `onEnded` when the leader exits while the cloud is running.
 */
export async function bootVm(
  boot: VmBoot,
  { onSpawned, onEnded }: { readonly onSpawned: (leader: ProcessKey) => void; readonly onEnded: () => void },
): Promise<void> {
  const serialPort = openSync(serialPortPathOf(boot.directory), 'a');
  try {
    const child = spawn('bash', ['-c', BOOT, startupPathOf(boot.directory)], {
      cwd: boot.directory,
      env: vmEnvironmentOf(boot.host, boot),
      stdio: ['ignore', serialPort, serialPort],
      detached: true,
    });
    child.once('exit', onEnded);
    if (child.pid !== undefined) {
      // A leader that has already exited has no start time; the empty string matches no running process.
      onSpawned({ pid: child.pid, start: readProcessStart(child.pid) ?? '' });
    }
    await once(child, 'spawn');
    child.unref();
  } finally {
    closeSync(serialPort);
  }
}

/** The newest output of the VM's serial port: SERIAL_PORT_BYTES_MAX or slightly more. */
export async function readSerialPort(directory: string): Promise<string> {
  return (await readFile(serialPortPathOf(directory), 'utf8').catch(ignoreMissing)) ?? '';
}

/**
 * Drops the older half of a serial port log over its limit. Output written during the truncation may be lost, and the
 * limit may be exceeded between two checks.
 */
export async function truncateSerialPort(directory: string): Promise<void> {
  const path = serialPortPathOf(directory);
  const size = (await stat(path).catch(ignoreMissing))?.size ?? 0;
  if (size <= SERIAL_PORT_BYTES_MAX) {
    return;
  }
  const file = await open(path, 'r+');
  try {
    const kept = Buffer.alloc(SERIAL_PORT_BYTES_MAX / 2);
    await file.read(kept, 0, kept.length, size - kept.length);
    // The VM's own descriptor is in append mode: it continues after the kept bytes.
    await file.truncate(0);
    await file.write(kept, 0, kept.length, 0);
  } finally {
    await file.close();
  }
}

/**
 * Removes the VM's directory, even if its program has removed write permissions or nested directories deeper than the
 * maximum path length: unlike Node, `rm` and `chmod` traverse directories by descriptor.
 */
export async function removeDisk({ directory, instanceId }: Pick<VmBoot, 'directory' | 'instanceId'>): Promise<void> {
  await unlinkTemporaryDirectory({ directory, instanceId });
  try {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await promisify(execFile)('chmod', ['-R', 'u+rwX', '--', directory]).catch(() => undefined);
    await promisify(execFile)('rm', ['-rf', '--', directory]);
  }
}

function serialPortPathOf(directory: string): string {
  return join(directory, 'serial-port.log');
}

function startupPathOf(directory: string): string {
  return join(directory, 'startup.sh');
}

async function writeExecutable(path: string, content: string): Promise<void> {
  await writeFile(path, content);
  await chmod(path, 0o755);
}
