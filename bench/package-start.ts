import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { type CloudUnderTest, jobFile, packFiles, startCloudUnderTest } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';

const PACKAGE_COUNT = 40;
const MODULES_PER_PACKAGE = 50;
const SECONDS_MAX = 3;
const RATIO_MAX = 2;
const INSTALL_MS_MAX = 600_000;

/** The program imports its requirements, and saves its environment's files, which are the floor's bytes. */
const PROGRAM = `
import importlib, os, subprocess, sys, time
started = time.time()
for name in sys.argv[2].split(','):
    importlib.import_module(name)
print(f'imported in {time.time() - started:.2f} s')
if not os.path.exists(sys.argv[1]):
    subprocess.check_call(['tar', '-cf', sys.argv[1], '-C', os.path.join(sys.prefix, 'lib'), '.'])
`;

type Start = { readonly installed: number; readonly restored: number; readonly imported: number };

/** The first and the second start of jobs with the same requirements, in an embedded cloud. */
export async function benchPackageStart(): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  try {
    const names = await buildWheels(join(folder, 'wheels'));
    const offline = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: join(folder, 'wheels'), PIP_CONFIG_FILE: '/dev/null' };
    const pure = await measure({ ...process.env, ...offline }, names, join(folder, 'pure.tar'));
    const torch = isInstallable('torch') ? await measure(process.env, ['torch'], join(folder, 'torch.tar')) : undefined;
    return [
      row(`${PACKAGE_COUNT} packages of pure Python`, pure, `time <= ${SECONDS_MAX} s`),
      ...(torch === undefined ? [] : [row('torch', torch, `restore <= ${RATIO_MAX}`)]),
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

type Measured = { readonly first: Start; readonly second: Start; readonly untarSeconds: number };

async function measure(environment: NodeJS.ProcessEnv, names: readonly string[], archive: string): Promise<Measured> {
  const cloud = await startCloudUnderTest({}, { environment });
  try {
    const first = await start(cloud, { jobId: 'first', names, archive });
    const second = await start(cloud, { jobId: 'second', names, archive });
    return { first, second, untarSeconds: await untar(archive) };
  } finally {
    await cloud.stop();
  }
}

type Job = { readonly jobId: string; readonly names: readonly string[]; readonly archive: string };

async function start(cloud: CloudUnderTest, { jobId, names, archive }: Job): Promise<Start> {
  const metadata = 'Metadata-Version: 2.1\nName: bench\nVersion: 1\n';
  const files = {
    'bench/setup.py': `from setuptools import setup\nsetup(name='bench', version='1', packages=['trainer'], install_requires=${JSON.stringify(names)})\n`,
    'bench/PKG-INFO': metadata,
    'bench/bench.egg-info/PKG-INFO': metadata,
    'bench/bench.egg-info/requires.txt': `${names.join('\n')}\n`,
    'bench/trainer/__init__.py': '',
    'bench/trainer/task.py': PROGRAM,
    'bench/job.json': JSON.stringify(jobFile(jobId, { args: [archive, names.join(',')] })),
  };
  await cloud.upload(`${jobId}.tar.gz`, await packFiles(files));
  const job = await cloud.awaitJob(jobId, undefined, INSTALL_MS_MAX);
  const log = (await cloud.readLog(jobId)).map(({ text }) => text).join('\n');
  if (job.state !== 'SUCCEEDED') {
    throw new Error(`The job ${jobId} is ${job.state}: ${JSON.stringify(job.cause)}\n${log}`);
  }
  const seconds = (pattern: RegExp) => Number(pattern.exec(log)?.[1] ?? Number.NaN);
  return {
    installed: seconds(/^Installed \d+ packages with \w+ in ([\d.]+) s\.$/m),
    restored: seconds(/^Restored the environment .* in ([\d.]+) s\.$/m),
    imported: seconds(/^imported in ([\d.]+) s$/m),
  };
}

function row(name: string, { first, second, untarSeconds }: Measured, goal: string): BenchRow {
  const startSeconds = second.restored + second.imported;
  const ratio = second.restored / untarSeconds;
  const described = `${name}: ${first.installed.toFixed(1)} s installed at the first start, at the second ${second.restored.toFixed(1)} s restored and ${second.imported.toFixed(1)} s imported (floor: tar -x of the same files)`;
  return {
    name: described,
    measured: `${startSeconds.toFixed(1)} s`,
    floor: `${untarSeconds.toFixed(1)} s`,
    ratio,
    goal,
    isMet: goal.startsWith('time') ? startSeconds <= SECONDS_MAX : ratio <= RATIO_MAX,
  };
}

async function untar(archive: string): Promise<number> {
  const target = `${archive}.out`;
  await mkdir(target);
  const startedAt = performance.now();
  execFileSync('tar', ['-xf', archive, '-C', target]);
  const seconds = (performance.now() - startedAt) / 1_000;
  await rm(target, { recursive: true });
  return seconds;
}

async function buildWheels(folder: string): Promise<readonly string[]> {
  await mkdir(folder);
  const names = Array.from({ length: PACKAGE_COUNT }, (_, number) => `bench_package_${number}`);
  for (const name of names) {
    await writeFile(join(folder, `${name}-1.0-py3-none-any.whl`), buildWheel(name));
  }
  return names;
}

function buildWheel(name: string): Uint8Array {
  const info = `${name}-1.0.dist-info`;
  const functions = Array.from({ length: 60 }, (_, number) => `def function_${number}(x):\n    return x + ${number}\n`);
  const modules = Array.from({ length: MODULES_PER_PACKAGE }, (_, number) => `${name}/module_${number}.py`);
  const sources: Record<string, string> = {
    [`${name}/__init__.py`]: 'from . import module_0\n',
    ...Object.fromEntries(modules.map((path) => [path, functions.join('')])),
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  sources[`${info}/RECORD`] = [...Object.keys(sources), `${info}/RECORD`].map((path) => `${path},,\n`).join('');
  return zipSync(Object.fromEntries(Object.entries(sources).map(([path, text]) => [path, strToU8(text)])));
}

/** Whether pip finds it here without asking an index that is not reachable for long. */
function isInstallable(requirement: string): boolean {
  const pip = ['-m', 'pip', 'install', '--dry-run', '--no-deps', '--quiet', '--retries', '0', '--timeout', '3'];
  try {
    execFileSync('python3', [...pip, requirement], { stdio: 'ignore', timeout: 120_000 });
    return true;
  } catch {
    return false;
  }
}
