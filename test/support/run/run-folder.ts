import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Every folder of a test is named so; tools such as Node, Java and Chromium keep caches under other names. */
const PREFIX = 'dropforge-';
/** The embedded cloud has links to the temporary folders of VMs here, since paths of sockets must be short. */
const LINKS_FOLDER = '/tmp';
/** Between SIGTERM and SIGKILL; a container engine ends its containers meanwhile. */
const STOP_MS_MAX = 5_000;
const POLL_MS = 50;
const LINES_MAX = 20;

export type RunFolder = {
  /** TMPDIR of the tests. Processes that tests start have a path below it in their environment, by which they are found. */
  readonly path: string;
  /**
   * Ends the processes and deletes the files that tests have left; returns a line for each. Processes have some time to
   * end with those that started them.
   */
  clean(options: { readonly graceMs: number }): Promise<readonly string[]>;
};

type Process = { readonly pid: number; readonly command: string };

/** Creates a folder for the temporary files of one run. Processes are found on Linux only, by /proc. */
export function createRunFolder(): RunFolder {
  const path = mkdtempSync(join(tmpdir(), 'dropforge-run-'));
  // Some tests run programs as other users.
  chmodSync(path, 0o711);
  return {
    path,
    async clean({ graceMs }) {
      const processes = await awaitProcesses(path, graceMs);
      sendSignal(processes, 'SIGTERM');
      sendSignal(await awaitProcesses(path, STOP_MS_MAX), 'SIGKILL');
      // Deleting the folder would delete the files of a file system that is still mounted below it.
      const mounts = unmountBelow(path);
      if (mounts.length > 0) {
        return mounts.map((target) => `mount ${target}, with ${path}`);
      }
      const links = findLinks(path);
      const files = readdirSync(path).filter((name) => name.startsWith(PREFIX));
      for (const file of [path, ...links]) {
        rmSync(file, { recursive: true, force: true, maxRetries: 10 });
      }
      const lines = processes.map(({ pid, command }) => `process ${pid}: ${command}`);
      return [...lines, ...files, ...links].slice(0, LINES_MAX);
    },
  };
}

/** Resolves with the processes that still run when the time has passed. */
async function awaitProcesses(folder: string, msMax: number): Promise<readonly Process[]> {
  const giveUpAt = Date.now() + msMax;
  for (;;) {
    const found = findProcesses(folder);
    if (found.length === 0 || Date.now() > giveUpAt) {
      return found;
    }
    await delay(POLL_MS);
  }
}

function findProcesses(folder: string): readonly Process[] {
  const numbers = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return numbers.flatMap((name) => {
    try {
      const isOfRun = readFileSync(`/proc/${name}/environ`, 'utf8').includes(folder);
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      // A process that has ended and was not waited for has no command line.
      return isOfRun && command !== '' ? [{ pid: Number(name), command }] : [];
    } catch {
      // It has ended by now, or is of another user.
      return [];
    }
  });
}

function sendSignal(processes: readonly Process[], signal: NodeJS.Signals) {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by now.
    }
  }
}

/** A container engine that was killed leaves its file systems mounted. Returns those that could not be unmounted. */
function unmountBelow(folder: string): readonly string[] {
  const targets = findMounts(folder);
  if (targets.length > 0) {
    spawnSync('umount', ['--lazy', ...targets.toReversed()]);
  }
  return findMounts(folder);
}

function findMounts(folder: string): readonly string[] {
  const lines = existsSync('/proc/self/mounts') ? readFileSync('/proc/self/mounts', 'utf8').split('\n') : [];
  // The kernel writes a space, a tab, a line break and a backslash as octal numbers (proc_pid_mounts(5)).
  const decode = (text: string) =>
    text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
  return lines.map((line) => decode(line.split(' ')[1] ?? '')).filter((target) => target.startsWith(`${folder}/`));
}

function findLinks(folder: string): readonly string[] {
  const entries = readdirSync(LINKS_FOLDER, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  const paths = entries.map(({ name }) => join(LINKS_FOLDER, name));
  return paths.filter((path) => readlinkSync(path).startsWith(folder));
}
