import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PRODUCT_ROOT } from '#infra/product-root.ts';

const OUTPUT_BYTES_MAX = 2 ** 24;

/** An installation in a folder of its own, as on a machine that has only Node.js and Python. */
export type InstalledPackage = {
  /** The folder of the package. */
  readonly directory: string;
  /** The current folder of its commands, empty at first. */
  readonly workDirectory: string;
  /** Runs a command; rejects if its exit code is not 0. */
  run(argv: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
};

/** Builds the npm package, and returns the path of its tarball in the folder. */
export async function packPackage(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const argv = ['pack', '--silent', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', argv, { cwd: PRODUCT_ROOT, maxBuffer: OUTPUT_BYTES_MAX });
  return join(folder, stdout.trim().split('\n').at(-1) ?? '');
}

/** Installs a tarball globally, in an empty prefix and with an empty home directory, without the registry. */
export async function installPackage(
  tarball: string,
  folder: string,
  node: string = process.execPath,
): Promise<InstalledPackage> {
  const [home, prefix, cwd] = ['home', 'prefix', 'work'].map((name) => join(folder, name)) as [string, string, string];
  await mkdir(home, { recursive: true });
  await mkdir(cwd, { recursive: true });
  const variables = [
    `HOME=${home}`,
    `XDG_CACHE_HOME=${join(home, '.cache')}`,
    `XDG_STATE_HOME=${join(home, '.state')}`,
  ];
  const runAtHome = (...argv: readonly string[]) =>
    promisify(execFile)('env', [...variables, ...argv], { cwd, maxBuffer: OUTPUT_BYTES_MAX });
  const options = ['--global', '--offline', '--prefix', prefix, '--cache', join(home, '.npm')];
  await runAtHome('npm', 'install', ...options, tarball);
  const directory = join(prefix, 'lib/node_modules/dropforge');
  return { directory, workDirectory: cwd, run: (argv) => runAtHome(node, join(prefix, 'bin/dropforge'), ...argv) };
}
