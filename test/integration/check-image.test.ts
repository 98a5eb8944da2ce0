import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { findPythons } from '../support/find-pythons.ts';

const SCRIPT = fileURLToPath(new URL('../../infra/machine-image/check-image.sh', import.meta.url));

let engine: EngineUnderTest | null = null;
beforeAll(async () => {
  engine = await startEngineUnderTest();
});
afterAll(() => engine?.stop());

it('the check of a machine image starts a real container without a network, and leaves no image', async (context) => {
  if (engine === null) {
    context.skip('Docker does not answer');
    return;
  }
  const env = { ...process.env, ...engine.environment };
  const { stdout } = spawnSync('bash', [SCRIPT, '--no-gpu', '--machine-only'], { encoding: 'utf8', env });
  expect(stdout).toContain('DROPFORGE-CHECK');
  expect(stdout).not.toMatch(/docker|container/i);
  expect(await engine.run(['image', 'ls', '--quiet', 'dropforge-check'])).toBe('');
});

const TRY_FILES = fileURLToPath(new URL('../../infra/machine-image/try_files.py', import.meta.url));

/** The findings about files, with this interpreter as `python3`. */
async function findingsOf(script: string, python: string): Promise<readonly string[]> {
  const bin = await mkdtemp(join(tmpdir(), 'dropforge-bin-'));
  try {
    await symlink(python, join(bin, 'python3'));
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const args = [script, '--no-gpu', '--no-containers', '--machine-only'];
    const { stdout } = spawnSync('bash', args, { encoding: 'utf8', env });
    expect(stdout).toContain('DROPFORGE-CHECK');
    return stdout.split('\n').filter((line) => line.startsWith('Files '));
  } finally {
    await rm(bin, { recursive: true });
  }
}

const pythons = findPythons();

it.each(pythons)('files can be used with the hook of the agent on Python $version ($path)', async ({ path }) => {
  expect(await findingsOf(SCRIPT, path)).toEqual([]);
});

it('an image on which files cannot be used with the hook has a finding', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-check-'));
  try {
    await copyFile(SCRIPT, join(folder, 'check-image.sh'));
    await copyFile(TRY_FILES, join(folder, 'try_files.py'));
    // The agent's hook was such a Python function, which becomes a method where a class keeps it.
    const hook =
      'import os\ndef install(*_):\n    real = os.stat\n    os.stat = lambda path, **more: real(path, **more)\n';
    await writeFile(join(folder, 'hook.py'), hook);
    expect(await findingsOf(join(folder, 'check-image.sh'), pythons[0]?.path ?? '')).toEqual([
      expect.stringMatching(/^Files could not be used as programs do, with the agent's hook: .+\.$/),
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
