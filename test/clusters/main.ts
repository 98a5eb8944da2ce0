import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { openFrameworkEnvironment } from '../support/frameworks/framework-environment.ts';
import { FAULTS, type FaultName } from './inject-fault.ts';
import { PROGRAMS, type Program } from './programs.ts';
import { jobIdOf, type Reference, type Result, type Row, referenceIdOf, runReference, runRow } from './run-row.ts';

const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];
const SIZES = [2, 3, 4];
const WIDTHS = [16, 9, 17, 10, 9, 9, 6, 8, 5, 0];
const HEAD = ['program', 'replicas', 'fault', 'outcome', 'attempts', 'recovery', 'saved', 'resumed', 'lost', 'bytes'];
/** Two processes run on each replica of torchrun. */
const sizesOf = ({ name }: Program) => (name === 'torchrun' ? [2] : SIZES);

const print = (text: string) => process.stdout.write(`${text}\n`);
const printCells = (cells: readonly string[]) =>
  print(cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join(' '));

type Options = {
  readonly faults?: FaultName[];
  readonly replicas?: string[];
  readonly all?: true;
  readonly logs?: string;
};

/** Every program with a preempted master and one other fault at one size, and FSDP2 with every fault. */
function isInDefault({ program, replicas, fault }: Row): boolean {
  const index = PROGRAMS.indexOf(program);
  const sizes = sizesOf(program);
  const other = FAULT_NAMES[1 + (index % (FAULT_NAMES.length - 1))];
  const isFaultIn = program.name === 'fsdp2' || fault === 'preempted-master' || fault === other;
  return isFaultIn && replicas === sizes[index % sizes.length];
}

function selectRows(names: readonly string[], { faults, replicas, all }: Options): readonly Row[] {
  const isChosen = all === true || faults !== undefined || replicas !== undefined;
  const programs = PROGRAMS.filter(({ name }) => names.length === 0 || names.includes(name));
  return programs
    .flatMap((program) => sizesOf(program).map((size) => ({ program, replicas: size })))
    .filter((row) => replicas?.includes(`${row.replicas}`) ?? true)
    .flatMap((row) => (faults ?? FAULT_NAMES).map((fault) => ({ ...row, fault })))
    .filter((row) => isChosen || isInDefault(row));
}

function cellsOf({ state, attempts, recoveryMs, savedStep, resumedStep, fileCount, problems }: Result): string[] {
  return [
    ...[state, `${attempts}`, recoveryMs === null ? '-' : `${(recoveryMs / 1_000).toFixed(1)} s`],
    ...[savedStep, resumedStep, Math.max(0, savedStep - resumedStep)].map(String),
    problems.length === 0 ? `equal, ${fileCount} files` : [`${problems.length} problems:`, ...problems].join('\n    '),
  ];
}

async function writeLog(cloud: CloudUnderTest, folder: string, jobId: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lines = (await cloud.readLog(jobId)).map(
    ({ at, attempt, replica, stream, text }) =>
      `${new Date(at).toISOString()} ${attempt} ${replica} ${stream}: ${text}`,
  );
  await writeFile(join(folder, `${jobId}.log`), lines.join('\n'));
}

/** Runs one row after another in one cloud, and prints each; returns how many had problems. */
async function run(rows: readonly Row[], logs: string | undefined): Promise<number> {
  const { python, installed } = await openFrameworkEnvironment();
  const cloud = await startCloudUnderTest({
    machineImages: [{ name: 'frameworks', python: python ?? 'python3' }],
    timeouts: { syncMs: 1_000 },
    stopGraceSeconds: 5,
    preemptionNoticeSeconds: 3,
    vmsMax: 12,
  });
  const references = new Map<string, Promise<Reference>>();
  let failed = 0;

  async function measure(row: Row): Promise<readonly string[]> {
    const missing = row.program.requires.filter((name) => !installed.has(name));
    if (missing.length > 0) {
      return [`not available here: ${missing.join(', ')}`];
    }
    const key = referenceIdOf(row);
    const reference = references.get(key) ?? runReference(cloud, row);
    references.set(key, reference);
    const result = await runRow(cloud, row, await reference);
    failed += result.problems.length === 0 ? 0 : 1;
    return cellsOf(result);
  }

  try {
    printCells(HEAD);
    for (const row of rows) {
      const cells = await measure(row).catch((error: unknown) => {
        failed += 1;
        return [String(error)];
      });
      printCells([row.program.name, `${row.replicas}`, row.fault, ...cells]);
      if (logs !== undefined) {
        await Promise.all([jobIdOf(row), referenceIdOf(row)].map((id) => writeLog(cloud, logs, id)));
      }
    }
    return failed;
  } finally {
    await cloud.stop();
  }
}

const list = (value: string) => value.split(',');

await new Command('clusters')
  .description('Trains on clusters with real frameworks, and injects a fault into each in the middle.')
  .addArgument(new Argument('[programs...]', 'default: all').choices(PROGRAMS.map(({ name }) => name)))
  .addOption(new Option('--faults <FAULTS>', `of ${FAULT_NAMES.join(', ')}`).argParser(list))
  .addOption(new Option('--replicas <COUNTS>', `of ${SIZES.join(', ')}`).argParser(list))
  .option('--all', 'every program with every fault at every size')
  .option('--logs <FOLDER>', 'a folder for the log of each job')
  .action(async (names: readonly string[], options: Options) => {
    process.exitCode = (await run(selectRows(names, options), options.logs)) === 0 ? 0 : 1;
  })
  .parseAsync();
