import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** A process that is alive: one that has ended and only waits to be collected is not listed. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Equal to the group's where the system does not tell. */
  readonly sessionId: number;
  /** When it began, as the system writes it: tells it from a later process that was given the same pid. */
  readonly start: string;
  /** Its environment where the system shows it (Linux; a NUL before and after each variable), otherwise its command line. */
  readonly description: string;
};

const IS_LINUX = process.platform === 'linux';
const PS_FIELDS = ['-ww', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='];
const PS_ENVIRONMENT = { LC_ALL: 'C', PATH: '/bin:/usr/bin' };
const PS_OUTPUT_BYTES_MAX = 64 * 1_048_576;
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d{4})\s+(.*)$/;

/** When the process with this pid began, or null when there is none that is alive. */
export function readProcessStart(pid: number): string | null {
  return (IS_LINUX ? readProc(pid, '') : readPsSync(pid))?.start ?? null;
}

/** Every process on this machine that this user may see. */
export function listProcesses(): Promise<readonly ProcessInfo[]> {
  return IS_LINUX ? listFromProc() : listFromPs();
}

/**
 * From `/proc`, see proc_pid_stat(5) and proc_pid_environ(5). These files are memory and read without waiting: 80 processes
 * take 2 ms, against 20 to 50 ms in the thread pool, where they stand behind the syncs of the object store.
 */
export async function listFromProc(): Promise<readonly ProcessInfo[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => readProc(pid, `\0${readIfAlive(`/proc/${pid}/environ`) ?? ''}`))
    .filter((info) => info !== null);
}

/** From `ps`, for systems without `/proc`. */
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
    // ps exits with 1 when it finds no such process.
    if (error instanceof Error && 'status' in error && error.status === 1) {
      return null;
    }
    throw error;
  }
}

/** The name of the program is in brackets and may hold anything, brackets too: the fields begin after the last one. */
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

/** Which boot of the machine a start time belongs to; empty where it is a date, which says it by itself. */
export function bootOf(start: string): string {
  return start.slice(0, Math.max(0, start.indexOf('/')));
}

let knownBootId: string | undefined;

/** Start times count from the boot of the machine; with its id they mean nothing else after the next one. */
function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return knownBootId;
}

/** A process may end while it is looked at, and another user's shows less. */
function nullIfUnreadable(error: unknown): null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') {
    return null;
  }
  throw error;
}
