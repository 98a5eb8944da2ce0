import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Environment, VM_MARK_VARIABLE, vmEnvironmentOf } from '#infra/embedded/compute-engine/vms/environment.ts';
import { readProcessStart } from '#infra/embedded/compute-engine/vms/process-list.ts';
import type { ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';

/** The serial port keeps between half of this and all of it: the newest, as Compute Engine does with its last 1 MB. */
export const SERIAL_PORT_BYTES_MAX = 1_048_576;

/** How long an interpreter may take to say where it is. */
const INTERPRETER_MS_MAX = 10_000;

export type VmBoot = {
  readonly directory: string;
  readonly instanceId: string;
  readonly metadataPort: number;
  readonly startupScript: string;
  /** The machine image's interpreter, as `findInterpreter` found it. */
  readonly python: string;
  readonly host: Environment;
};

/**
 * Where an interpreter really is, or undefined when there is none. Asked of itself, because a version manager's
 * stand-in works only in its user's environment.
 */
export async function findInterpreter(python: string, host: Environment): Promise<string | undefined> {
  try {
    const options = { env: host as NodeJS.ProcessEnv, timeout: INTERPRETER_MS_MAX };
    const { stdout } = await promisify(execFile)(python, ['-c', 'import sys; print(sys.executable)'], options);
    return stdout.trim() === '' ? undefined : stdout.trim();
  } catch {
    // Not there, not executable or no interpreter: for whoever asks for this machine image it is all the same.
    return undefined;
  }
}

/** What is written in the processes of a VM: in their environment, or where that cannot be seen in their command line. */
export function marksOf(vm: Pick<VmBoot, 'instanceId' | 'directory'>): readonly string[] {
  return [`\0${VM_MARK_VARIABLE}=${vm.instanceId}\0`, startupPathOf(vm.directory)];
}

/** Writes the VM's files; what an earlier boot has left on the disk stays. */
export async function prepareBoot({ directory, startupScript, python }: VmBoot): Promise<void> {
  for (const name of ['bin', 'disk', 'home', 'tmp']) {
    await mkdir(join(directory, name), { recursive: true });
  }
  await writeFile(startupPathOf(directory), startupScript);
  const runPython = `#!/bin/sh\nexec '${python.replaceAll("'", "'\\''")}' "$@"\n`;
  await writeExecutable(join(directory, 'bin', 'python3'), runPython);
  await writeExecutable(join(directory, 'bin', 'python'), runPython);
  await writeExecutable(join(directory, 'bin', 'poweroff'), POWER_OFF);
}

/**
 * Ends the VM's own process group at once. Whoever is in another group is ended by the provider, which sees that the
 * leader is gone.
 */
const POWER_OFF = '#!/bin/sh\nkill -s KILL -- "-$(cat "$(dirname "$0")/../leader.pid")"\n';

/** Whatever ends the first process ends the VM. Its pid is written down before anything can ask to be powered off. */
const BOOT = 'echo "$$" > leader.pid; exec bash "$0"';

/** The pid that the VM's first process has written down; null before it could. */
export async function readLeaderPid(directory: string): Promise<number | null> {
  const written = await readFile(join(directory, 'leader.pid'), 'utf8').catch(ignoreMissing);
  return written === undefined ? null : Number.parseInt(written, 10);
}

/**
 * Starts the VM as the leader of a new session, which outlives the cloud. `onSpawned` is called before anything else can
 * happen in this process; `onEnded` when the leader has ended while the cloud was there to see it.
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
      // One that has ended already has no start any more, and none is what no living process has.
      onSpawned({ pid: child.pid, start: readProcessStart(child.pid) ?? '' });
    }
    await once(child, 'spawn');
    child.unref();
  } finally {
    closeSync(serialPort);
  }
}

/** What the VM has written to its serial port: the newest SERIAL_PORT_BYTES_MAX, or a little more. */
export async function readSerialPort(directory: string): Promise<string> {
  return (await readFile(serialPortPathOf(directory), 'utf8').catch(ignoreMissing)) ?? '';
}

/**
 * Drops the older half of a serial port that has grown too long. What is written within that moment may be lost, and
 * between two looks the limit may be passed.
 */
export async function boundSerialPort(directory: string): Promise<void> {
  const path = serialPortPathOf(directory);
  const size = (await stat(path).catch(ignoreMissing))?.size ?? 0;
  if (size <= SERIAL_PORT_BYTES_MAX) {
    return;
  }
  const file = await open(path, 'r+');
  try {
    const kept = Buffer.alloc(SERIAL_PORT_BYTES_MAX / 2);
    await file.read(kept, 0, kept.length, size - kept.length);
    // The VM's own descriptor appends: it goes on after what is kept.
    await file.truncate(0);
    await file.write(kept, 0, kept.length, 0);
  } finally {
    await file.close();
  }
}

/**
 * Removes the VM's directory, also where its program has taken the right to write from parts of it, or has nested
 * directories deeper than a path may be long: `rm` and `chmod` walk them by descriptors, as Node does not.
 */
export async function removeDisk(directory: string): Promise<void> {
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

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
    throw error;
  }
}
