import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

/** Never prints, ignores SIGTERM, and has a child in a session of its own. On its second attempt, it ends at once. */
const SILENT_TRAINER = `
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ['DROPFORGE_ATTEMPT'] == '1':
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)
    time.sleep(600)
`;

/** The data directory is deeper than a Unix socket's path can be. */
const DEEP = ['a-directory-name-that-is-rather-long', 'and-another-one-in-it', 'where-a-team-keeps-its-projects'].join(
  '/',
);

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ stopGraceSeconds: 1 }, { subdirectory: DEEP });
});

afterAll(() => cloud.stop());

/** The pids that the VM's startup script has written. */
async function readPid(file: 'agent.pid' | 'leader.pid'): Promise<number> {
  const vms = join(cloud.dataDir, 'vms');
  const [vm] = await readdir(vms);
  const path = join(vms, vm ?? '', file === 'agent.pid' ? 'disk' : '', file);
  return Number.parseInt(await readFile(path, 'utf8'), 10);
}

it.each([
  { what: 'agent', file: 'agent.pid' },
  { what: 'startup script', file: 'leader.pid' },
] as const)('nothing of a VM outlives its $what, and the job continues on another VM', async ({ what, file }) => {
  const jobId = `killed_${what.replace(' ', '_')}`;
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(SILENT_TRAINER, jobFile(jobId)));
  await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
  const isTrainer = (line: string) => line.includes('sleep(600)') || line.includes('trainer.task');
  const trainers = await until('the program', async () => {
    const lines = (await findMarkedProcesses(cloud.dataDir)).filter(isTrainer);
    return lines.length >= 2 ? lines : undefined;
  });

  process.kill(await readPid(file), 'SIGKILL');

  expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 });
  const pids = (await findMarkedProcesses(cloud.dataDir)).map((line) => Number.parseInt(line, 10));
  expect(trainers.map((line) => Number.parseInt(line, 10)).filter((pid) => pids.includes(pid))).toEqual([]);
});

/** The sockets of PyTorch's data loaders and multiprocessing: one in TMPDIR. */
const SOCKETS = `
import multiprocessing, os, tempfile
if __name__ == '__main__':
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        shared['step'] = 1
        print('shared', dict(shared))

`;

it('a program opens Unix sockets in its temporary directory, however deep the data directory is', async () => {
  await cloud.upload('sockets.tar.gz', await packProgram(SOCKETS, jobFile('sockets')));

  const job = await cloud.awaitJob('sockets');

  expect(job.state, JSON.stringify(job.cause)).toBe('SUCCEEDED');
  const lines = (await cloud.readLog('sockets')).map(({ text }) => text);
  expect(lines).toContain("shared {'step': 1}");
});
