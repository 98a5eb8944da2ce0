import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A file that is deleted when the disk is full, so that the control plane can still write what ends a job. */
const BALLAST_BYTES = 16 * 2 ** 20;
const BALLAST_RANDOM = randomBytes(2 ** 20);
/** Time for an agent to kill its program, with a margin. */
const DYING_MS = 2_000;
const MEASURE_MS_MAX = 10_000;
const WARNING_INTERVAL_MS = 60_000;

export type DiskUser = {
  readonly name: string;
  readonly directory: string;
  /** Ends the program with DISK_FULL; resolves with false if that is not possible now. */
  readonly end: () => Promise<boolean>;
};

export type DiskGuardOptions = {
  /** Parent of the VMs' directories, on the file system that they share with the control plane. */
  readonly directory: string;
  /** Free bytes below which programs are ended and no VM is created; 0 disables the guard. */
  readonly reserveBytes: number;
  readonly listUsers: () => readonly DiskUser[];
  readonly now: () => number;
  readonly writeLog: (line: string) => void;
};

/** Keeps disk space for the control plane: ends the program that uses the most while less than the reserve is free. */
export type DiskGuard = {
  /** Whether less than the reserve was free at the last check. */
  isLow(): boolean;
  check(): Promise<void>;
};

export function createDiskGuard(options: DiskGuardOptions): DiskGuard {
  const { directory, reserveBytes, listUsers, now, writeLog } = options;
  const ballast = `${directory}.reserve`;
  const ended = new Set<string>();
  let isLow = false;
  let hasBallast = false;
  let lastEndAt = 0;
  let nextWarningAt = 0;

  /** Released only after the programs that were ended had time to die: they would use it, too. */
  async function keepBallast(freeBytes: number): Promise<void> {
    if (freeBytes < BALLAST_BYTES && now() >= lastEndAt + DYING_MS) {
      hasBallast = false;
      await rm(ballast, { force: true });
    } else if (!hasBallast && freeBytes > reserveBytes + BALLAST_BYTES) {
      // Random, since a file system that compresses or skips zeros would keep no space for them.
      await writeFile(ballast, Buffer.concat(Array(BALLAST_BYTES / BALLAST_RANDOM.length).fill(BALLAST_RANDOM)));
      hasBallast = true;
    }
  }

  /** A program that was ended keeps its disk until its output is saved; meanwhile, only an emergency ends another. */
  function mayEndAnother(users: readonly DiskUser[], freeBytes: number): boolean {
    const isEnding = users.some((user) => ended.has(user.directory));
    return !isEnding || freeBytes < reserveBytes / 4;
  }

  async function endLargest(freeBytes: number): Promise<void> {
    const users = listUsers();
    if (!mayEndAnother(users, freeBytes) || now() < lastEndAt + DYING_MS) {
      return;
    }
    const sizes = await measure(users.filter((user) => !ended.has(user.directory)));
    const largest = sizes.toSorted((one, other) => other.bytes - one.bytes)[0];
    const free = `Only ${mebibytes(freeBytes)} are free on the disk of ${directory}`;
    if (largest !== undefined && largest.bytes >= reserveBytes - freeBytes && (await largest.user.end())) {
      ended.add(largest.user.directory);
      lastEndAt = now();
      writeLog(`${free}: the program of VM ${largest.user.name}, which uses ${mebibytes(largest.bytes)}, is ended.`);
    } else if (now() >= nextWarningAt) {
      nextWarningAt = now() + WARNING_INTERVAL_MS;
      writeLog(`${free}, and the VMs use little of it. Free some space: until then, no VM is created.`);
    }
  }

  return {
    isLow: () => isLow,
    async check() {
      if (reserveBytes === 0) {
        return;
      }
      const { bavail, bsize } = await statfs(directory);
      const freeBytes = bavail * bsize;
      isLow = freeBytes < reserveBytes;
      if (isLow) {
        await endLargest(freeBytes);
      }
      await keepBallast(freeBytes);
    },
  };
}

/** `du` descends by descriptor, so no path is too deep, and reports what it could read if files vanish meanwhile. */
async function measure(
  users: readonly DiskUser[],
): Promise<readonly { readonly user: DiskUser; readonly bytes: number }[]> {
  if (users.length === 0) {
    return [];
  }
  const args = ['-sk', '--', ...users.map(({ directory }) => directory)];
  const { stdout } = await promisify(execFile)('du', args, { timeout: MEASURE_MS_MAX }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  const kibibytes = new Map(stdout.split('\n').map((line) => line.split('\t').toReversed() as [string, string]));
  return users.map((user) => ({ user, bytes: Number(kibibytes.get(user.directory) ?? 0) * 1024 }));
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
