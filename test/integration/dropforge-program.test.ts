import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { until } from '../support/e2e/cloud-under-test.ts';

const PROGRAM = fileURLToPath(new URL('../../cli/dropforge.js', import.meta.url));

/** The caller's own Node.js, of any version from 20 on: npm's folders are not on the path of a user's shell. */
const SHELL_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((directory) => !directory.includes('node_modules'))
  .join(delimiter);

let elsewhere: string;
let links: string;
beforeEach(async () => {
  elsewhere = await mkdtemp(join(tmpdir(), 'dropforge-elsewhere-'));
  links = join(elsewhere, 'bin');
  await mkdir(links);
  // As `npm link` does.
  await symlink(PROGRAM, join(links, 'dropforge'));
});
afterEach(() => rm(elsewhere, { recursive: true, force: true }));

const dropforge = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(PROGRAM, argv, { cwd: elsewhere, env: { ...process.env, PATH: SHELL_PATH, ...env } });

describe('dropforge in any folder, on any Node.js', () => {
  it('runs, and ends as the command does', async () => {
    expect((await dropforge(['--help'])).stdout).toContain('Usage: dropforge');
    await expect(dropforge(['nope'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unknown command/),
    });
  });

  it('hints at what can be typed there: its name where it is linked, its path where it is not', async () => {
    await expect(dropforge(['status'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`run \`${PROGRAM} up\` first`),
    });
    await expect(dropforge(['status'], { PATH: `${links}${delimiter}${SHELL_PATH}` })).rejects.toMatchObject({
      stderr: expect.stringContaining('run `dropforge up` first'),
    });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('passes %s on, and waits until the cloud is down', async (signal) => {
    const dataDir = join(elsewhere, 'data');
    const env = { ...process.env, PATH: SHELL_PATH };
    const program = spawn(PROGRAM, ['up', '--data-dir', dataDir], { cwd: elsewhere, env, stdio: 'ignore' });
    const exited = once(program, 'exit');
    await until('the cloud', () => readEndpoints(dataDir));
    program.kill(signal);
    expect(await exited).toEqual([0, null]);
    expect(await readEndpoints(dataDir)).toBeUndefined();
  });

  it('says what to do where nothing is installed yet', async () => {
    const clone = join(elsewhere, 'clone');
    await mkdir(join(clone, 'cli'), { recursive: true });
    await writeFile(join(clone, 'package.json'), '{"type": "module"}');
    await copyFile(PROGRAM, join(clone, 'cli', 'dropforge.js'));
    const started = promisify(execFile)(join(clone, 'cli', 'dropforge.js'), [], {
      env: { ...process.env, PATH: SHELL_PATH },
    });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: `error: Dropforge is not installed yet: run \`npm ci\` in ${clone}/\n`,
    });
  });
});
