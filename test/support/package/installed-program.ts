import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Returns the path of the file that `npm pack` writes to the directory. */
export async function packTarball(directory: string): Promise<string> {
  await promisify(execFile)('npm', ['pack', '--pack-destination', directory], { cwd: ROOT });
  const [name = ''] = (await readdir(directory)).filter((one) => one.endsWith('.tgz'));
  return join(directory, name);
}

/** Installs it as `npm install --global` does for a user with this prefix; returns the folder of the program. */
export async function installTarball(tarball: string, prefix: string): Promise<string> {
  const argv = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', prefix, tarball];
  await promisify(execFile)('npm', argv, { cwd: dirname(tarball) });
  return join(prefix, 'bin');
}
