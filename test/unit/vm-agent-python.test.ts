import { expect, it } from 'vitest';
import { AGENT_TESTS, runAgentTests } from '../support/agent/agent-tests.ts';

// Most of their time is waited.
it.concurrent.each(AGENT_TESTS)('%s of the VM agent passes', { timeout: 300_000 }, async (file) => {
  expect(await runAgentTests('python3', file)).toBeGreaterThan(0);
});
