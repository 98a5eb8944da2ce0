import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import Table from 'cli-table3';
import { startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import { createUser } from '../support/e2e/cloud-under-test.ts';
import { openImage } from './image.ts';
import { REAL_PROGRAMS, type RealProgram } from './programs.ts';
import { type Outcome, runProgram, type Stage } from './run-program.ts';
import { exportSource, findClone } from './sources.ts';

/** Runs public packages unmodified on an embedded cloud, and prints how each ended. Words select programs by name. */
const [, , ...words] = process.argv;
const sources = process.env.REAL_PROGRAMS;
if (sources === undefined) {
  process.stderr.write(
    'Set REAL_PROGRAMS to a folder of clones, OWNER/NAME each: test/real-programs/programs.ts names them.\n',
  );
  process.exit(2);
}

const nameOf = ({ repository, path, submit }: RealProgram) =>
  [
    repository,
    path === '.' ? '' : `/${path}`,
    ` (${/(?:--module[-_]name|python-module)[= ]([^\s,]+)/.exec(submit)?.[1]})`,
  ].join('');

const folder = await mkdtemp(join(tmpdir(), 'dropforge-real-programs-'));
const table = new Table({
  head: ['program', 'end', 'seconds', ''],
  colWidths: [60, 80],
  wordWrap: true,
  style: { head: [], border: [] },
});
let expected = 0;
let ran = 0;
const python = await openImage(sources, folder);
if (python === undefined) {
  process.stderr.write('pip has no index here: the programs need their frameworks.\n');
  process.exit(2);
}
const dataDir = join(folder, 'cloud');
const cloud = await startEmbeddedCloud({
  dataDir,
  config: { machineImages: [{ name: 'dropforge-runtime', python }] },
  environment: process.env,
  writeLog: () => undefined,
});
try {
  const { endpoints } = cloud;
  const stage = { dataDir, bucket: endpoints.jobsBucket, python, user: createUser(endpoints) };
  for (const [index, program] of REAL_PROGRAMS.entries()) {
    const name = nameOf(program);
    if (words.length === 0 || words.some((word) => name.includes(word))) {
      const startedAt = Date.now();
      const { isExpected, end, lastLines = [] } = await runOne(program, index, stage);
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
      process.stderr.write(`${isExpected ? 'as expected' : 'UNEXPECTED '}  ${name}: ${end}\n`);
      if (!isExpected) {
        process.stderr.write(lastLines.map((line) => `    ${line}\n`).join(''));
      }
      table.push([name, end, seconds, isExpected ? 'as expected' : 'unexpected']);
      ran += 1;
      expected += isExpected ? 1 : 0;
    }
  }
} finally {
  await cloud.stop();
  await rm(folder, { recursive: true, force: true });
}
process.stdout.write(`${table.toString()}\n${expected} of ${ran} ended as expected.\n`);
process.exitCode = expected === ran ? 0 : 1;

async function runOne(program: RealProgram, index: number, stage: Stage): Promise<Outcome> {
  const clone = findClone(sources ?? '', program.repository);
  if (clone === undefined) {
    return { isExpected: false, end: `not there: clone ${program.repository} into ${sources}` };
  }
  // Submissions may name the folder that they are in.
  const target = join(folder, `program-${index}`, basename(join(program.repository, program.path)));
  try {
    await exportSource(clone, program, target);
  } catch (error) {
    return { isExpected: false, end: `not exported: ${String(error).slice(0, 300)}` };
  }
  return runProgram(program, { jobId: `program_${index}`, folder: target }, stage);
}
