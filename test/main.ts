import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endLeftProcesses } from './support/run/left-processes.ts';

/**
 * `npm test`: linter, types, bundles, and every test, with all cores; the first failure of a step ends it.
 * `npm test -- PATTERN` runs the test files whose path contains the pattern, and nothing else.
 *
 * Whatever a test starts has a mark in its environment and the run's own temporary directory, so that nothing outlives
 * the run: not after a failure, and not after Ctrl-C.
 */
const patterns = process.argv.slice(2);
const temporary = await mkdtemp(join(tmpdir(), 'dropforge-test-'));
const environment = {
  ...process.env,
  TMPDIR: temporary,
  DROPFORGE_TEST_CACHE: process.env.DROPFORGE_TEST_CACHE ?? tmpdir(),
};

const CHECKS = [
  ['biome', 'ci', '.', '--diagnostic-level=error'],
  ['tsc'],
  ['tsc', '-p', 'dashboard'],
  ['node', 'infra/tools/bundle-functions/build-functions.ts'],
];

function run([command = '', ...args]: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env: environment });
  return new Promise((resolve) => {
    child.once('error', () => resolve(1)).once('close', (code) => resolve(code ?? 1));
  });
}

async function runAll(): Promise<number> {
  for (const step of patterns.length === 0 ? CHECKS : []) {
    const code = await run(step);
    if (code !== 0) {
      return code;
    }
  }
  return run(['vitest', 'run', ...patterns]);
}

// The signal of Ctrl-C reaches the steps, too: their ends are awaited, and then what they left is ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {});
}
const code = await runAll();
const left = await endLeftProcesses(temporary);
await rm(temporary, { recursive: true, force: true });
for (const command of left) {
  process.stderr.write(`A test has left a process, which was ended now: ${command}\n`);
}
process.exitCode = code === 0 && left.length > 0 ? 1 : code;
