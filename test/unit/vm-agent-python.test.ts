import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const AGENT = new URL('../../infra/vm-agent/', import.meta.url).pathname;

it('the Python tests of the VM agent pass', { timeout: 240_000 }, () => {
  const { status, stderr } = spawnSync('python3', ['-B', '-m', 'unittest', 'discover', '-s', `${AGENT}tests`], {
    encoding: 'utf8',
  });
  const testCount = Number(/^Ran (\d+) tests? in/m.exec(stderr)?.[1] ?? 0);
  expect(status, stderr).toBe(0);
  expect(testCount, stderr).toBeGreaterThan(40);
});
