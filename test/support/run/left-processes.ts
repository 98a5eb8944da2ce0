import { readdir, readFile } from 'node:fs/promises';

/**
 * Ends the processes that have `temporary` as their temporary directory, and returns their command lines. Linux only:
 * elsewhere the environment of processes cannot be read, and none is found.
 */
export async function endLeftProcesses(temporary: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  );
  const ended = await Promise.all(pids.map((pid) => endIfLeft(Number(pid), temporary)));
  return ended.filter((command) => command !== undefined);
}

async function endIfLeft(pid: number, temporary: string): Promise<string | undefined> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').then((text) => text.split('\0'));
  try {
    if (!(await read('environ')).some((entry) => entry.startsWith('TMPDIR=') && entry.includes(temporary))) {
      return undefined;
    }
    const command = (await read('cmdline')).join(' ').trim();
    process.kill(pid, 'SIGKILL');
    return command;
  } catch {
    // It has ended meanwhile, or belongs to another user.
    return undefined;
  }
}
