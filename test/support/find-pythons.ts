import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

const OLDEST = [3, 9];

export type Python = {
  /** An absolute path, without links. */
  readonly path: string;
  readonly version: string;
};

/**
 * The interpreters of this machine that the agent supports, the oldest first: those on the PATH, in /usr/bin and
 * /usr/local/bin, and all versions of pyenv.
 */
export function findPythons(): readonly Python[] {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', ...pyenvFolders()];
  // Shims start an interpreter that is found elsewhere, in a long time.
  const candidates = [...new Set(folders)]
    .filter((folder) => !folder.endsWith('/shims'))
    .flatMap((folder) =>
      listOf(folder)
        .filter((name) => /^python3(\.\d+)?$/.test(name))
        .map((name) => realpathSync(join(folder, name))),
    );
  const found = [...new Set(candidates)].flatMap((path) => inspectPython(path) ?? []);
  const byPath = new Map(found.map((python) => [python.path, python]));
  return [...byPath.values()].filter(({ version }) => compare(version, OLDEST.join('.')) >= 0).sort(byVersion);
}

/** One interpreter of each version, 3.12 say, that the `python3` on the PATH does not have. */
export function findOtherPythons(): readonly Python[] {
  const minorOf = ({ version }: Python) => version.split('.', 2).join('.');
  const byMinor = new Map(findPythons().map((python) => [minorOf(python), python]));
  const own = inspectPython('python3');
  if (own !== undefined) {
    byMinor.delete(minorOf(own));
  }
  return [...byMinor.values()];
}

/** The Python that a command starts, which may be a shim; undefined if it starts nothing. */
export function inspectPython(command: string): Python | undefined {
  const script = 'import os, sys; print(os.path.realpath(sys.executable), sys.version.split()[0])';
  try {
    const options: ExecFileSyncOptionsWithStringEncoding = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    const [path = '', version = ''] = execFileSync(command, ['-c', script], options).trim().split(' ');
    return { path, version };
  } catch {
    return;
  }
}

function pyenvFolders(): readonly string[] {
  let root = join(homedir(), '.pyenv');
  try {
    root = execFileSync('pyenv', ['root'], { encoding: 'utf8' }).trim();
  } catch {
    // It is not on the PATH.
  }
  return listOf(join(root, 'versions')).map((version) => join(root, 'versions', version, 'bin'));
}

function listOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const byVersion = (a: Python, b: Python) => compare(a.version, b.version) || a.path.localeCompare(b.path);

function compare(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
