import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Endpoints, readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { createPrng } from '../simulation/prng.ts';
import { createUser, jobFile, packProgram, until } from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const KILLS = 8;

/** Each completed run of the program is one line of the log; the checkpoint file counts its starts. */
const PROGRAM = `
import os, time
runs = os.path.join(os.environ["DROPFORGE_OUTPUT_DIR"], "runs.txt")
with open(runs, "a") as file: file.write("run\\n")
for step in range(30): time.sleep(0.1)
print("FINISHED", flush=True)
`;

let dataDir: string;
let cloud: ChildProcess | undefined;

async function start(): Promise<Endpoints> {
  const started = spawn(process.execPath, [CLI, 'up', '--data-dir', dataDir], { stdio: 'ignore' });
  cloud = started;
  return until('the cloud', async () => {
    const endpoints = await readEndpoints(dataDir);
    return endpoints?.pid === started.pid ? endpoints : undefined;
  });
}

async function kill(signal: NodeJS.Signals): Promise<void> {
  if (cloud?.exitCode === null && cloud.signalCode === null) {
    const exited = once(cloud, 'exit');
    cloud.kill(signal);
    await exited;
  }
}

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dropforge-kill-'));
});

afterEach(async () => {
  await kill('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

it('loses no job, completes none twice and leaves no process behind, however often it is killed', async () => {
  const prng = createPrng(20_261_121);
  const jobIds = ['first', 'second', 'third'];
  const user = createUser(await start());
  for (const jobId of jobIds) {
    await user.upload(`${jobId}.tar.gz`, await packProgram(PROGRAM, jobFile(jobId)));
  }
  for (let kills = 0; kills < KILLS; kills += 1) {
    await delay(50 + prng.integer(1_200));
    await kill('SIGKILL');
    // The pause is as long as a restart on a busy machine: agents must keep what they could not deliver.
    await delay(1_000 + prng.integer(3_500));
    await start();
  }

  for (const jobId of jobIds) {
    const job = await user.awaitJob(jobId);
    expect(job, jobId).toMatchObject({ state: 'SUCCEEDED' });
    const log = await user.readLog(jobId);
    expect(
      log.filter(({ text }) => text === 'FINISHED'),
      jobId,
    ).toHaveLength(1);
  }
  expect(await user.listVms()).toEqual([]);
  expect(await findMarkedProcesses(dataDir)).toEqual([]);
});

it('terminates every VM when it is stopped, and continues the job at the next start', async () => {
  const user = createUser(await start());
  await user.upload('later.tar.gz', await packProgram(PROGRAM, jobFile('later')));
  await user.awaitJob('later', ({ state }) => state === 'RUNNING');

  await kill('SIGTERM');
  expect(await findMarkedProcesses(dataDir)).toEqual([]);

  await start();
  expect(await user.awaitJob('later')).toMatchObject({
    state: 'SUCCEEDED',
    attempt: 2,
    attempts: [{ cause: 'VM_TERMINATED' }, { cause: null }],
  });
});
