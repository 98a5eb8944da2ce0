import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lockDataDir } from '../../../infra/embedded/data-dir/lock.ts';
import { leaveOut } from '../run/leave-out.ts';

/**
 * The packages of the shared virtual environment, as pip names them. A test that needs another one adds it here. The
 * environment is built once for all tests, and kept in node_modules/.cache until this list or pip's configuration
 * changes.
 */
const REQUIREMENTS = [
  'etils[epath]',
  'fsspec',
  'gcsfs',
  'google-cloud-storage',
  'jax',
  'joblib',
  'lightning',
  'orbax-checkpoint',
  'pandas',
  'scikit-learn',
  'tensorboard',
  'tensorflow-cpu',
  'torch',
] as const;

export type Requirement = (typeof REQUIREMENTS)[number];

export type FrameworkEnvironment<Name> = {
  /** The interpreter that has the packages; undefined if pip could install none of them. */
  readonly python: string | undefined;
  readonly installed: ReadonlySet<Name>;
};

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url));
const PROBE_MS_MAX = 300_000;
const INSTALL_MS_MAX = 900_000;
const LOCK_POLL_MS = 200;

/**
 * The shared environment, built by the first test process that needs it; others wait for it. Call it at the top level
 * of a test file, where no test timeout applies.
 */
export function openFrameworkEnvironment(): Promise<FrameworkEnvironment<Requirement>> {
  return openEnvironment(REQUIREMENTS);
}

/** The same with other packages. */
export async function openEnvironment<Name extends string>(
  requirements: readonly Name[],
): Promise<FrameworkEnvironment<Name>> {
  const directory = join(CACHE, `dropforge-frameworks-${describePip(requirements)}`);
  await mkdir(CACHE, { recursive: true });
  const lock = await acquireLock(directory);
  try {
    const installed = readInstalled<Name>(directory) ?? (await build(directory, requirements));
    const python = installed.length === 0 ? undefined : join(directory, 'venv', 'bin', 'python');
    return { python, installed: new Set(installed) };
  } finally {
    lock.release();
  }
}

/**
 * The cases whose packages are all installed; the others are left out, and named at the end of the run.
 */
export function selectInstalled<T extends { readonly requires: readonly Requirement[] }>(
  { installed }: FrameworkEnvironment<Requirement>,
  cases: readonly T[],
): readonly T[] {
  const missing = new Set(cases.flatMap(({ requires }) => requires.filter((name) => !installed.has(name))));
  if (missing.size > 0) {
    leaveOut(`${[...missing].join(', ')} from a pip index`, 'programs that use them');
  }
  return cases.filter(({ requires }) => requires.every((name) => installed.has(name)));
}

/** Changes with the requirements, with the interpreter and with the indexes that pip uses. */
function describePip(requirements: readonly string[]): string {
  const read = (args: readonly string[]) => {
    try {
      return execFileSync('python3', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      return '';
    }
  };
  const parts = [requirements.join(), read(['-VV']), read(['-m', 'pip', 'config', 'list'])];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}

async function acquireLock(directory: string): Promise<{ release(): void }> {
  for (;;) {
    const lock = lockDataDir(directory);
    if (lock !== undefined) {
      return lock;
    }
    await delay(LOCK_POLL_MS);
  }
}

const installedFileOf = (directory: string) => join(directory, 'installed.json');

function readInstalled<Name>(directory: string): readonly Name[] | undefined {
  try {
    return JSON.parse(readFileSync(installedFileOf(directory), 'utf8'));
  } catch {
    // Not built yet, or its build was interrupted.
    return undefined;
  }
}

async function build<Name extends string>(directory: string, requirements: readonly Name[]): Promise<readonly Name[]> {
  const venv = join(directory, 'venv');
  await rm(venv, { recursive: true, force: true });
  const installed = (await succeeds('python3', ['-m', 'venv', venv])) ? await installAvailable(venv, requirements) : [];
  // Written last: only a complete environment is used again.
  await writeFile(installedFileOf(directory), JSON.stringify(installed));
  return installed;
}

async function installAvailable<Name extends string>(
  venv: string,
  requirements: readonly Name[],
): Promise<readonly Name[]> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--retries', '0', '--timeout', '5'];
  const python = join(venv, 'bin', 'python');
  const install = (names: readonly string[]) => succeeds(python, [...pip, ...names]);
  const probes = requirements.map((name) =>
    succeeds(python, [...pip, '--dry-run', '--no-deps', name], PROBE_MS_MAX).then((isFound) => ({ name, isFound })),
  );
  const found = (await Promise.all(probes)).filter(({ isFound }) => isFound).map(({ name }) => name);
  if (found.length === 0 || (await install(found))) {
    return found;
  }
  // A dependency of one of them is missing.
  const installed: Name[] = [];
  for (const name of found) {
    if (await install([name])) {
      installed.push(name);
    }
  }
  return installed;
}

async function succeeds(command: string, args: readonly string[], timeout = INSTALL_MS_MAX): Promise<boolean> {
  try {
    await promisify(execFile)(command, args, { timeout });
    return true;
  } catch {
    return false;
  }
}
