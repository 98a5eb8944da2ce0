import { expect, it } from 'vitest';
import { runAgentTests } from '../support/agent/agent-tests.ts';
import { findPythons, inspectPython, type Python } from '../support/find-pythons.ts';

const minorOf = ({ version }: Pick<Python, 'version'>) => version.split('.', 2).join('.');

/** One interpreter of each version but that of the `python3` with which `npm test` runs these tests. */
const others = [...new Map(findPythons().map((python) => [minorOf(python), python])).values()].filter(
  (python) => minorOf(python) !== minorOf(inspectPython('python3') ?? { version: '' }),
);

it.each(others)('the VM agent passes its tests on Python $version', { timeout: 900_000 }, async ({ path }) => {
  expect(await runAgentTests(path, 'test*.py')).toBeGreaterThan(40);
});
