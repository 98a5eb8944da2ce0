import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createRunFolder } from '../support/run/run-folder.ts';

test('the processes and folders that a test leaves are named and removed, and caches of tools are only removed', async () => {
  const folder = createRunFolder();
  mkdirSync(join(folder.path, 'dropforge-e2e-1'));
  mkdirSync(join(folder.path, 'node-compile-cache'));
  const left = spawn('sleep', ['600'], {
    detached: true,
    env: { ...process.env, DATA_DIR: join(folder.path, 'data') },
  });
  const ended = once(left, 'exit');
  await once(left, 'spawn');
  expect(await folder.clean({ graceMs: 0 })).toEqual([`process ${left.pid}: sleep 600`, 'dropforge-e2e-1']);
  expect((await ended)[1]).toBe('SIGTERM');
  expect(existsSync(folder.path)).toBe(false);
});

test.skipIf(process.getuid?.() !== 0)(
  'what is mounted below the folder is unmounted before the folder is deleted',
  async () => {
    const folder = createRunFolder();
    const other = mkdtempSync(join(tmpdir(), 'dropforge-mounted-'));
    onTestFinished(() => rmSync(other, { recursive: true }));
    writeFileSync(join(other, 'file'), 'x');
    const target = join(folder.path, 'dropforge-with a space');
    mkdirSync(target);
    const isMounted = spawnSync('mount', ['--bind', other, target]).status === 0;
    await folder.clean({ graceMs: 0 });
    expect(existsSync(join(other, 'file'))).toBe(true);
    expect(existsSync(folder.path), `mounted: ${isMounted}`).toBe(false);
  },
);

test('a run that leaves nothing has nothing to report', async () => {
  expect(await createRunFolder().clean({ graceMs: 0 })).toEqual([]);
});
