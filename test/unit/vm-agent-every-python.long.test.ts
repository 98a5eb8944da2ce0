import { expect, it } from 'vitest';
import { runAgentTests } from '../support/agent/agent-tests.ts';
import { findOtherPythons } from '../support/find-pythons.ts';
import { leaveOut } from '../support/run/leave-out.ts';

// `npm test` runs them on the `python3` of the PATH.
const others = findOtherPythons();
if (others.length === 0) {
  leaveOut('another version of Python', 'tests of the VM agent on it');
}

it.each(others)('the VM agent passes its tests on Python $version', { timeout: 900_000 }, async ({ path }) => {
  expect(await runAgentTests(path, 'test*.py')).toBeGreaterThan(40);
});
