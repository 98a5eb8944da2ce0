import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** A running process; zombies are not listed. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Equal to `groupId` on systems that do not report sessions. */
  readonly sessionId: number;
  /** The start time in the system's format: distinguishes the process from a later one with the same pid. */
  readonly start: string;
  /**
   * The environment if the system exposes it (Linux; a NUL before and after each variable), otherwise the command line.
   */
  readonly description: string;
};

const IS_LINUX = process.platform === 'linux';
const PS_FIELDS = ['-ww', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='];
const PS_ENVIRONMENT = { LC_ALL: 'C', PATH: '/bin:/usr/bin' };
const PS_OUTPUT_BYTES_MAX = 64 * 1_048_576;
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d{4})\s+(.*)$/;

/** The start time of the process with this pid; null if no such process is running. */
export function readProcessStart(pid: number): string | null {
  return (IS_LINUX ? readProc(pid, '') : readPsSync(pid))?.start ?? null;
}

/** Every process on this machine that is visible to this user. */
export function listProcesses(): Promise<readonly ProcessInfo[]> {
  return IS_LINUX ? listFromProc() : listFromPs();
}

/**
 * Lists from `/proc`, see proc_pid_stat(5) and proc_pid_environ(5). These files are in memory and read synchronously:
 * 80 processes take 2 ms, compared to 20 to 50 ms in the thread pool, where they queue behind the object store's syncs.
 */
export async function listFromProc(): Promise<readonly ProcessInfo[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => readProc(pid, `\0${readIfAlive(`/proc/${pid}/environ`) ?? ''}`))
    .filter((info) => info !== null);
}

/** Lists from `ps`, for systems without `/proc`. */
export async function listFromPs(): Promise<readonly ProcessInfo[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', ...PS_FIELDS], {
    env: PS_ENVIRONMENT,
    maxBuffer: PS_OUTPUT_BYTES_MAX,
  });
  return stdout
    .split('\n')
    .map(parsePsLine)
    .filter((info) => info !== null);
}

function readProc(pid: number | string, environment: string): ProcessInfo | null {
  const stat = readIfAlive(`/proc/${pid}/stat`);
  return stat === null ? null : parseStat(stat, environment);
}

function readIfAlive(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    return nullIfUnreadable(error);
  }
}

function readPsSync(pid: number): ProcessInfo | null {
  try {
    const stdout = execFileSync('ps', ['-p', String(pid), ...PS_FIELDS], { env: PS_ENVIRONMENT, encoding: 'utf8' });
    return parsePsLine(stdout.trimEnd());
  } catch (error) {
    // ps exits with 1 if there is no such process.
    if (error instanceof Error && 'status' in error && error.status === 1) {
      return null;
    }
    throw error;
  }
}

/** The program name is in parentheses and may itself contain parentheses: the fields start after the last one. */
function parseStat(stat: string, environment: string): ProcessInfo | null {
  const pid = Number.parseInt(stat, 10);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parentPid, groupId, sessionId] = fields;
  if (isEnded(state)) {
    return null;
  }
  return {
    pid,
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    sessionId: Number(sessionId),
    start: `${bootId()}/${fields[19]}`,
    description: environment,
  };
}

function parsePsLine(line: string): ProcessInfo | null {
  const [, pid, parentPid, groupId, state, start, command] = PS_LINE.exec(line) ?? [];
  if (pid === undefined || isEnded(state)) {
    return null;
  }
  return {
    pid: Number(pid),
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    sessionId: Number(groupId),
    start: String(start),
    description: String(command),
  };
}

function isEnded(state: string | undefined): boolean {
  return state === undefined || state.startsWith('Z') || state.startsWith('X');
}

/**
 * The id of the machine's boot that a start time belongs to; empty if the start time is a date, which is unambiguous.
 */
export function bootOf(start: string): string {
  return start.slice(0, Math.max(0, start.indexOf('/')));
}

let knownBootId: string | undefined;

/** Start times count from the boot of the machine; with the boot id they stay unique across reboots. */
function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return knownBootId;
}

/** A process may end while it is being read, and a process of another user may not be readable. */
function nullIfUnreadable(error: unknown): null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') {
    return null;
  }
  throw error;
}
