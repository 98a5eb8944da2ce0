import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';

const SCRIPT = fileURLToPath(new URL('../../infra/machine-image/check-image.sh', import.meta.url));

let engine: EngineUnderTest | null = null;
beforeAll(async () => {
  engine = await startEngineUnderTest();
});
afterAll(() => engine?.stop());

it('the check of a machine image starts a real container without a network, and leaves no image', async (context) => {
  if (engine?.kind !== 'docker') {
    context.skip('Docker does not answer');
    return;
  }
  const env = { ...process.env, ...engine.environment };
  const { stdout } = spawnSync('bash', [SCRIPT, '--no-gpu', '--machine-only'], { encoding: 'utf8', env });
  expect(stdout).toContain('DROPFORGE-CHECK');
  expect(stdout).not.toMatch(/docker|container/i);
  expect(await engine.run(['image', 'ls', '--quiet', 'dropforge-check'])).toBe('');
});
