import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { createUser, jobFile, packProgram, until } from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

let dataDir: string;
let cloud: ChildProcess;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dropforge-hang-up-'));
});

afterEach(async () => {
  if (cloud.exitCode === null && cloud.signalCode === null) {
    const exited = once(cloud, 'exit');
    cloud.kill('SIGTERM');
    await exited;
  }
  await rm(dataDir, { recursive: true, force: true });
});

function start(command: string, stdio: StdioOptions): ChildProcess {
  cloud = spawn(process.execPath, [CLI, command, '--data-dir', dataDir], { stdio });
  return cloud;
}

/** A program that would run for minutes, once it runs. */
async function train(): Promise<ReturnType<typeof createUser>> {
  const endpoints = await until('the cloud', () => readEndpoints(dataDir));
  const user = createUser(endpoints);
  await user.upload('long.tar.gz', await packProgram('import time\ntime.sleep(300)\n', jobFile('long')));
  await user.awaitJob('long', ({ state }) => state === 'RUNNING');
  return user;
}

it.each([
  ['SIGHUP', 'a terminal that is closed'],
  ['SIGINT', 'Ctrl-C'],
] as const)('%s, of %s, ends the cloud: no process of a VM stays, and the job goes on later', async (signal, _of) => {
  const exited = once(start('up', 'ignore'), 'exit');
  await train();
  cloud.kill(signal);
  // It comes again: from the shell besides the terminal, or from npm.
  cloud.kill(signal);

  expect(await exited).toEqual([0, null]);
  expect(await findMarkedProcesses(dataDir)).toEqual([]);
  expect(await readEndpoints(dataDir)).toBeUndefined();
});

it('a demo whose reader leaves cancels its job and leaves no process behind', async () => {
  const { stdout } = start('demo', ['ignore', 'pipe', 'pipe']);
  const exited = once(cloud, 'exit');
  for await (const line of createInterface({ input: stdout ?? process.stdin })) {
    if (line.includes('training')) {
      stdout?.destroy();
      break;
    }
  }

  expect(await exited).toEqual([1, null]);
  expect(await findMarkedProcesses(dataDir)).toEqual([]);
});

it('a cloud that nobody listens to any more still ends in order', async () => {
  const exited = once(start('up', ['ignore', 'pipe', 'pipe']), 'exit');
  await train();
  cloud.stdout?.destroy();
  cloud.stderr?.destroy();
  cloud.kill('SIGTERM');

  expect(await exited).toEqual([0, null]);
  expect(await findMarkedProcesses(dataDir)).toEqual([]);
});
