import { spawn } from 'node:child_process';

/**
 * `npm test`: linter, types and every test; the first step that fails ends it. `npm test -- PATTERN` runs the test files
 * whose path contains the pattern, and nothing else.
 */
const patterns = process.argv.slice(2);

const projects = (...names: readonly string[]) => ['vitest', 'run', ...names.flatMap((name) => ['--project', name])];
const STEPS = [
  ['biome', 'ci', '.', '--diagnostic-level=error'],
  ['tsc'],
  ['tsc', '-p', 'dashboard'],
  projects('unit', 'contract', 'corpus', 'simulation', 'repository'),
  projects('google-cloud', 'terraform', 'integration', 'e2e'),
  ['node', 'infra/tools/bundle-functions/build-functions.ts'],
  projects('e2e-cloud'),
];

function run([command = '', ...args]: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  return new Promise((resolve) => {
    child.once('error', () => resolve(1)).once('close', (code) => resolve(code ?? 1));
  });
}

// Ctrl-C reaches the step, too, which ends what it has started; its end is awaited.
process.on('SIGINT', () => {});
for (const step of patterns.length === 0 ? STEPS : [['vitest', 'run', ...patterns]]) {
  process.exitCode = await run(step);
  if (process.exitCode !== 0) {
    break;
  }
}
