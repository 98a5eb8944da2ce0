import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type InstalledPackage, installPackage, packPackage } from '#infra/tools/release/install-package.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';

const ROUNDS = 9;
const FILES = 204;
const TRAINED_SECONDS_MAX = 30;
const INSTALLED_BYTES_MAX = 60e6;

/** Prints the peak memory of its process at the end, in KiB. */
const REPORT_MEMORY = `data:text/javascript,process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS))`;

/** The start of the installed program's commands next to that of Node.js, its size, and the time to the first model. */
export async function benchProgramStart(): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  try {
    const tarball = await packPackage(folder);
    const startedAt = performance.now();
    const installed = await installPackage(tarball, folder);
    await installed.run(['demo']);
    const seconds = (performance.now() - startedAt) / 1_000;
    const rows = [
      rowOf('installation to a trained model', { measured: seconds, floor: TRAINED_SECONDS_MAX, unit: 's', max: 1 }),
      await sizeRow('tarball', [tarball]),
      await sizeRow('installed package', await listFiles(installed.directory)),
    ];
    return [...rows, ...(await measureStarts(installed, folder))];
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measureStarts({ directory, workDirectory }: InstalledPackage, folder: string): Promise<BenchRow[]> {
  const example = join(directory, 'examples/digits/job.yaml');
  const copies = Array.from({ length: FILES }, (_, index) => join(folder, `job-${index}.yaml`));
  await Promise.all(copies.map((copy) => copyFile(example, copy)));
  const program = join(directory, 'cli/dropforge.js');
  const cloud = spawn(process.execPath, [program, 'up'], { cwd: workDirectory, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(cloud.stdout, 'data');
    const commands = [
      { name: '--help', argv: [program, '--help'], max: 1.3 },
      { name: 'jobs list', argv: [program, 'jobs', 'list'], max: 2 },
      { name: 'jobs validate, one file', argv: [program, 'jobs', 'validate', example], max: null },
      { name: `jobs validate, ${FILES} files`, argv: [program, 'jobs', 'validate', ...copies], max: null },
    ];
    const floors: Run[] = [];
    const runs = commands.map((): Run[] => []);
    for (let round = 0; round <= ROUNDS; round += 1) {
      floors.push(await runNode(['-e', '0'], workDirectory));
      for (const [index, { argv }] of commands.entries()) {
        runs[index]?.push(await runNode(argv, workDirectory));
      }
    }
    return commands.map(({ name, max }, index) => startRow(name, { runs: runs[index] ?? [], floors, max }));
  } finally {
    cloud.kill('SIGTERM');
    await once(cloud, 'exit');
  }
}

type Run = { readonly ms: number; readonly peakMiB: number };

async function runNode(argv: readonly string[], cwd: string): Promise<Run> {
  const startedAt = performance.now();
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', REPORT_MEMORY, ...argv], { cwd });
  const ms = performance.now() - startedAt;
  return { ms, peakMiB: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1_024 };
}

type Starts = { readonly runs: readonly Run[]; readonly floors: readonly Run[]; readonly max: number | null };

/** The first run is not counted: it fills the cache of compiled code. */
function startRow(name: string, { runs, floors, max }: Starts): BenchRow {
  const measured = median(runs.slice(1).map(({ ms }) => ms));
  const floor = median(floors.slice(1).map(({ ms }) => ms));
  const peakMiB = Math.max(...runs.map((run) => run.peakMiB));
  const described = `start of ${name}: peak memory ${peakMiB.toFixed(0)} MiB (floor: node -e 0)`;
  return rowOf(described, { measured, floor, unit: 'ms', max });
}

async function sizeRow(name: string, files: readonly string[]): Promise<BenchRow> {
  const sizes = await Promise.all(files.map(async (path) => (await stat(path)).size));
  const measured = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
  return rowOf(`size of the ${name}`, { measured, floor: INSTALLED_BYTES_MAX / 1e6, unit: 'MB', max: 1 });
}

async function listFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

type Figures = {
  readonly measured: number;
  readonly floor: number;
  readonly unit: string;
  /** Null without a goal. */
  readonly max: number | null;
};

function rowOf(name: string, { measured, floor, unit, max }: Figures): BenchRow {
  const show = (value: number) => `${value.toFixed(unit === 'ms' ? 0 : 1)} ${unit}`;
  const ratio = measured / floor;
  const goal = max === null ? 'none' : `ratio <= ${max}`;
  return { name, measured: show(measured), floor: show(floor), ratio, goal, isMet: max === null ? null : ratio <= max };
}
