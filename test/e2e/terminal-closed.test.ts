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

/** Uploads a program that runs for minutes; resolves once it is running. */
async function train(): Promise<ReturnType<typeof createUser>> {
  const endpoints = await until('the cloud', () => readEndpoints(dataDir));
  const user = createUser(endpoints);
  await user.upload('long.tar.gz', await packProgram('import time\ntime.sleep(300)\n', jobFile('long')));
  await user.awaitJob('long', ({ state }) => state === 'RUNNING');
  return user;
}

it.each([
  ['SIGHUP', 'a closed terminal'],
  ['SIGINT', 'Ctrl-C'],
] as const)(
  '%s, from %s, stops the cloud: no process of a VM remains, and the job continues later',
  async (signal, _of) => {
    const exited = once(start('up', 'ignore'), 'exit');
    await train();
    cloud.kill(signal);
    // The signal arrives twice: from the terminal and from the shell or npm.
    cloud.kill(signal);

    expect(await exited).toEqual([0, null]);
    expect(await findMarkedProcesses(dataDir)).toEqual([]);
    expect(await readEndpoints(dataDir)).toBeUndefined();
  },
);

it('a demo whose output is closed cancels its job and leaves no process behind', async () => {
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

it('a cloud whose output is closed still shuts down in order', async () => {
  const exited = once(start('up', ['ignore', 'pipe', 'pipe']), 'exit');
  await train();
  cloud.stdout?.destroy();
  cloud.stderr?.destroy();
  cloud.kill('SIGTERM');

  expect(await exited).toEqual([0, null]);
  expect(await findMarkedProcesses(dataDir)).toEqual([]);
});
