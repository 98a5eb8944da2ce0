import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { until } from '../support/e2e/cloud-under-test.ts';

const PROGRAM = fileURLToPath(new URL('../../cli/dropforge.js', import.meta.url));

/** The PATH of a user's shell, with the caller's own Node.js (20 or later) and without the folders that npm adds. */
const SHELL_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((directory) => !directory.includes('node_modules'))
  .join(delimiter);

let workDir: string;
let links: string;
beforeEach(async () => {
  workDir = await mkdtemp(join(tmpdir(), 'dropforge-elsewhere-'));
  links = join(workDir, 'bin');
  await mkdir(links);
  // `npm link` does the same.
  await symlink(PROGRAM, join(links, 'dropforge'));
});
afterEach(() => rm(workDir, { recursive: true, force: true }));

const dropforge = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(PROGRAM, argv, { cwd: workDir, env: { ...process.env, PATH: SHELL_PATH, ...env } });

/** Copies what runs on any Node.js. */
async function copyProgram(folder: string): Promise<void> {
  for (const name of ['dropforge.js', 'older-node.js']) {
    await copyFile(join(dirname(PROGRAM), name), join(folder, name));
  }
}

describe('dropforge in any folder, on any Node.js', () => {
  it('runs, and exits with the exit code of the command', async () => {
    expect((await dropforge(['--help'])).stdout).toContain('Usage: dropforge');
    await expect(dropforge(['nope'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unknown command/),
    });
  });

  it('keeps its compiled modules for the next start, in the folder of its packages', async () => {
    const cache = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));
    await rm(cache, { recursive: true, force: true });
    await dropforge(['--help']);
    expect(await readdir(cache)).toEqual([expect.stringMatching(/^v\d+\./)]);
  });

  it('prints hints with its name if it is linked, and with its path otherwise', async () => {
    await expect(dropforge(['status'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`run \`${PROGRAM} up\` first`),
    });
    await expect(dropforge(['status'], { PATH: `${links}${delimiter}${SHELL_PATH}` })).rejects.toMatchObject({
      stderr: expect.stringContaining('run `dropforge up` first'),
    });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('forwards %s and waits until the cloud has stopped', async (signal) => {
    const dataDir = join(workDir, 'data');
    const env = { ...process.env, PATH: SHELL_PATH };
    const program = spawn(PROGRAM, ['up', '--data-dir', dataDir], { cwd: workDir, env, stdio: 'ignore' });
    const exited = once(program, 'exit');
    await until('the cloud', () => readEndpoints(dataDir));
    program.kill(signal);
    expect(await exited).toEqual([0, null]);
    expect(await readEndpoints(dataDir)).toBeUndefined();
  });

  it('prints what to do if dependencies are not installed', async () => {
    const clone = join(workDir, 'clone');
    await mkdir(join(clone, 'cli'), { recursive: true });
    await writeFile(join(clone, 'package.json'), '{"type": "module"}');
    await writeFile(join(clone, 'cli', 'main.ts'), '');
    await copyProgram(join(clone, 'cli'));
    const started = promisify(execFile)(join(clone, 'cli', 'dropforge.js'), [], {
      env: { ...process.env, PATH: SHELL_PATH },
    });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: `error: Dropforge is not installed yet: run \`npm ci\` in ${clone}/\n`,
    });
  });

  it('names the version that it needs, in a package without sources, on an older Node.js', async () => {
    await mkdir(join(workDir, 'package/cli'), { recursive: true });
    await writeFile(join(workDir, 'package/package.json'), '{"type": "module"}');
    const program = join(workDir, 'package/cli/dropforge.js');
    await copyProgram(join(workDir, 'package/cli'));
    const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '22.15.9' })`;
    await expect(promisify(execFile)(process.execPath, ['--import', older, program])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: Dropforge needs Node\.js 22\.16 or newer, and this is v/),
    });
  });
});
