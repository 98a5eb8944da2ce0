import { spawn } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { findInterpreter } from '#infra/embedded/compute-engine/vms/process.ts';
import { createRunFolder } from './support/run/run-folder.ts';

/**
 * `npm test`: linter, types, the build and every test except the long ones. The first step that fails ends it.
 * `npm run check` (`--quick`): what needs no build, with a tenth of the simulation's seeds. `npm run test:long` (`--long`):
 * the test files named `*.long.test.ts`. Arguments are patterns: only the test files whose path contains one run, of
 * `npm test` without linter and types.
 */
const [mode = '', ...others] = process.argv.slice(2);

/** In which a container engine, say, ends after its test. */
const GRACE_MS = 10_000;

const QUICK = ['unit', 'contract', 'corpus', 'simulation', 'repository'];
const vitest = (...args: readonly string[]) => ['vitest', 'run', ...args];
const project = (name: string) => ['--project', name];
const CHECKS = [['biome', 'ci', '.', '--diagnostic-level=error'], ['tsc'], ['tsc', '-p', 'dashboard']];
const BUILD = ['node', 'infra/tools/bundle-functions/build-functions.ts'];

function stepsOf(): readonly (readonly string[])[] {
  switch (mode) {
    case '':
      return [...CHECKS, BUILD, vitest(...project('!long'))];
    case '--quick':
      return [...CHECKS, vitest(...QUICK.flatMap(project))];
    case '--long':
      return [vitest(...project('long'), ...others)];
    default:
      return [vitest(mode, ...others)];
  }
}

/** A version manager's shim takes ten times longer to start than Python, and tests start Python a thousand times. */
async function findPath(): Promise<string> {
  const { PATH = '' } = process.env;
  const python = await findInterpreter('python3', process.env);
  if (python === undefined) {
    return PATH;
  }
  const folders = PATH.split(delimiter);
  return folders
    .flatMap((folder) => (folder.endsWith('/shims') ? [dirname(python), folder] : [folder]))
    .join(delimiter);
}

const environment = {
  ...process.env,
  ...(mode === '--quick' && { SEEDS: '20' }),
  PATH: await findPath(),
  // Biome's allocator (jemalloc) returns pages to the system and takes them again, which costs most of Biome's time.
  _RJEM_MALLOC_CONF: 'dirty_decay_ms:-1,muzzy_decay_ms:-1',
};

let isInterrupted = false;

function run([command = '', ...args]: readonly string[], tmp: string): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...environment, TMPDIR: tmp } });
  // Ctrl-C reaches the step, too; its end is awaited.
  process.on('SIGINT', () => {
    isInterrupted = true;
  });
  const onTerminate = () => {
    isInterrupted = true;
    child.kill('SIGINT');
  };
  process.on('SIGTERM', onTerminate).on('SIGHUP', onTerminate);
  return new Promise((resolve) => {
    child.once('error', () => resolve(1)).once('close', (code) => resolve(code ?? 1));
  });
}

const folder = createRunFolder();
for (const step of stepsOf()) {
  process.exitCode = await run(step, folder.path);
  if (process.exitCode !== 0) {
    break;
  }
}
const left = await folder.clean({ graceMs: isInterrupted ? 0 : GRACE_MS });
if (left.length > 0 && !isInterrupted) {
  process.stderr.write(['Left behind, and removed now:', ...left].join('\n  ').concat('\n'));
  process.exitCode ||= 1;
}
