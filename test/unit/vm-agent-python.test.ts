import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { findPythons, inspectPython } from '../support/find-pythons.ts';

const AGENT = new URL('../../infra/vm-agent/', import.meta.url).pathname;

/** What depends on the version of Python most: the hook in programs, and how a program is installed and started. */
const HOOK_AND_LAUNCHER = ['test_paths.py', 'test_environment.py', 'test_package_plan.py', 'test_program.py'];

const own = inspectPython('python3');
const others = findPythons().filter(({ path }) => path !== own?.path);
/** CI runs all tests with every interpreter, after those of `npm test`. */
const isComplete = process.env.AGENT_TESTS === 'all';

/** Resolves with the number of tests, all of which have passed. */
async function runTests(python: string, pattern: string): Promise<number> {
  const argv = ['-B', '-m', 'unittest', 'discover', '-s', `${AGENT}tests`, '-p', pattern];
  const { stderr } = await promisify(execFile)(python, argv, { maxBuffer: 2 ** 28 });
  return Number(/^Ran (\d+) tests? in/m.exec(stderr)?.[1] ?? 0);
}

describe.runIf(!isComplete)('the Python tests of the VM agent', () => {
  it('pass', { timeout: 600_000 }, async () => {
    expect(await runTests('python3', 'test*.py')).toBeGreaterThan(40);
  });

  it.each(others)(
    'of its hook and launcher pass on Python $version ($path)',
    { timeout: 120_000 },
    async ({ path }) => {
      for (const file of HOOK_AND_LAUNCHER) {
        expect(await runTests(path, file)).toBeGreaterThan(0);
      }
    },
  );
});

describe.runIf(isComplete)('all Python tests of the VM agent', () => {
  it.concurrent.each(others)('pass on Python $version ($path)', { timeout: 900_000 }, async ({ path }) => {
    expect(await runTests(path, 'test*.py')).toBeGreaterThan(40);
  });
});
