import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, createApiClient } from '#cli/client/api-client.ts';
import { EventFiles, type JobFolder } from '#cli/client/event-files.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { startTensorboard } from '#cli/client/tensorboard-process.ts';
import { listTrials } from '#cli/client/trials.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';

const PORT_DEFAULT = 6006;
/** Lists are billed, and the agents upload at intervals, too. */
const SYNC_MS = 10_000;
const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED']);

type Followed = { readonly folders: readonly JobFolder[]; readonly areEnded: boolean };

export const tensorboard: Command = {
  operands: [{ name: 'JOB', summary: 'jobs, or a tuning job for all of its trials', count: 'many' }],
  flags: [
    { name: 'port', value: 'PORT', summary: `the port of TensorBoard, ${PORT_DEFAULT} by default` },
    { name: 'dir', value: 'FOLDER', summary: 'only copy the event files, and keep them, until the jobs have ended' },
  ],
  notes:
    'Runs the TensorBoard that is installed, on a folder with a run for each job and attempt, until it is interrupted.',
  async run(invocation) {
    const port = readPort(invocation.flag('port'));
    const folder = invocation.flag('dir');
    return folder === undefined ? show(invocation, port) : copy(invocation, resolve(invocation.io.cwd, folder));
  },
};

async function copy(invocation: Invocation, folder: string): Promise<ExitCode> {
  const { print } = invocation;
  const follower = await createFollower(invocation, folder);
  while (!(await follower.sync())) {
    await follower.wait();
  }
  const { count } = follower.files;
  print({
    json: { folder, files: count },
    text: `${folder} has ${count} event files. Show them: tensorboard --logdir ${folder}`,
  });
  return count > 0 ? 0 : 1;
}

async function show(invocation: Invocation, port: number): Promise<ExitCode> {
  const { io } = invocation;
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-tensorboard-'));
  try {
    const follower = await createFollower(invocation, folder);
    let areEnded = await follower.sync();
    const { ended } = await startTensorboard(folder, { port, signal: io.interrupted, stderr: io.stderr });
    let code: number | null | undefined;
    const closed = ended.then((value) => {
      code = value;
    });
    while (code === undefined && !areEnded) {
      await Promise.race([closed, follower.wait().catch(() => undefined)]);
      areEnded = code === undefined && !io.interrupted.aborted ? await follower.sync() : areEnded;
    }
    await closed;
    if (!io.interrupted.aborted) {
      throw new Failure(
        `TensorBoard ended with exit code ${code}: what it printed says why. Another --port may be free.`,
      );
    }
    return 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function createFollower(invocation: Invocation, folder: string) {
  const { io, operands } = invocation;
  const target = await findTarget(invocation);
  const api = createApiClient(target.api, io.interrupted);
  const files = new EventFiles(createObjectClient(target), folder);
  return {
    files,
    /** Returns whether all jobs had ended before their files were copied. */
    async sync(): Promise<boolean> {
      const { folders, areEnded } = await findFolders(api, operands);
      await files.sync(folders);
      return areEnded;
    },
    wait: () => sleep(SYNC_MS, undefined, { signal: io.interrupted }),
  };
}

async function findFolders(api: ApiClient, jobIds: readonly string[]): Promise<Followed> {
  const jobs = await Promise.all(jobIds.map((jobId) => api.getJob(jobId)));
  const folders = await Promise.all(
    jobs.map(async ({ jobId, jobDir, tuning }) => {
      if (tuning === null) {
        return [{ jobId, jobDir }];
      }
      const trials = await listTrials(api, jobId);
      return trials.map(({ trialId }) => ({ jobId: `${jobId}/trial-${trialId}`, jobDir: `${jobDir}/${trialId}` }));
    }),
  );
  return { folders: folders.flat(), areEnded: jobs.every(({ state }) => ENDED.has(state)) };
}

function readPort(text: string | undefined): number {
  const port = Number(text ?? PORT_DEFAULT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageFailure(`--port must be a number from 0 to 65535, not '${text}'.`);
  }
  return port;
}
