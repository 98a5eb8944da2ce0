import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installPackage, packPackage } from '#infra/tools/release/install-package.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-node-22-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each(['22.16.0', '22'])(
  'the npm package trains the demo on Node.js %s, without a warning of Node.js',
  async (version) => {
    const home = join(folder, version);
    const options = ['--no-save', '--prefix', join(home, 'node')];
    await promisify(execFile)('npm', ['install', ...options, `node@${version}`]);
    const node = join(home, 'node/node_modules/node/bin/node');
    const { run } = await installPackage(await packPackage(home), home, node);
    expect((await run(['version'])).stdout).toContain(`Node.js   v${version}`);
    const { stdout, stderr } = await run(['demo']);
    expect(stdout).toMatch(/SUCCEEDED[\s\S]*VMs +none running/);
    expect(stderr).toBe('');
  },
);
