import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { withPeerSecret } from '#shared/use-cases/heartbeat/peer-secret.ts';
import {
  type CloudUnderTest,
  packFiles,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';

/** Its replicas exchange messages over sockets, and exit with status 1 at once if one of them is gone. */
const EXAMPLE_DIR = fileURLToPath(new URL('../../examples/cluster/trainer', import.meta.url));

/** Saves slowly when it is stopped, and does not end. Every replica of the next attempt ends with what it finds. */
const SAVES_WHEN_STOPPED = `
import os, signal, sys, time
checkpoint = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'checkpoint.txt')
if os.path.exists(checkpoint):
    sys.exit(0 if open(checkpoint).read() == 'final' else 3)
if os.environ['RANK'] == '0':
    with open(checkpoint, 'w') as file:
        file.write('first')

def stop(*_):
    time.sleep(2)
    with open(checkpoint, 'w') as file:
        file.write('final')

signal.signal(signal.SIGTERM, stop if os.environ['RANK'] == '0' else signal.SIG_DFL)
while True:
    time.sleep(0.1)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({
    timeouts: { syncMs: 300 },
    stopGraceSeconds: 4,
    preemptionNoticeSeconds: 2,
    vmsMax: 12,
  });
});
afterAll(() => cloud.stop());

/** Without a checkpoint it trains until it is interrupted, and with one it takes some more steps and ends. */
async function submit(jobId: string, workers: object | number = 2): Promise<void> {
  const args = ['--steps=1000000', '--save-every=10'];
  const job = { name: jobId, module: 'trainer.task', args, resumeArguments: ['--more-steps=30'], workers };
  const names = await readdir(EXAMPLE_DIR);
  const sources = names
    .filter((name) => name.endsWith('.py'))
    .map(async (name) => [`trainer/${name}`, await readFile(join(EXAMPLE_DIR, name))]);
  const files = { ...Object.fromEntries(await Promise.all(sources)), 'job.json': JSON.stringify(job) };
  await cloud.upload(`${jobId}.tar.gz`, await packFiles(files));
}

/** The index of the checkpoints, once a manifest names it. */
async function readCheckpoint(jobId: string): Promise<string | undefined> {
  const names = await readManifest(jobId);
  return names.includes('checkpoints/index.json')
    ? cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/checkpoints/index.json`)
    : undefined;
}

async function readManifest(jobId: string): Promise<readonly string[]> {
  const manifest = await cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/dropforge-manifest.json`);
  return Object.keys(JSON.parse(manifest ?? '{"files": {}}').files);
}

it.each([
  { fault: 'preemption', action: 'preempt', replica: 'worker-0', cause: 'PREEMPTED' },
  { fault: 'preemption', action: 'preempt', replica: 'master-0', cause: 'PREEMPTED' },
  { fault: 'reset', action: 'reset', replica: 'worker-1', cause: 'VM_TERMINATED' },
] as const)(
  'a cluster with Spot workers continues from the shards of all after a $fault of $replica, although its peers exit',
  async ({ action, replica, cause }) => {
    const jobId = `${action}_${replica.replace('-', '_')}`;
    await submit(jobId, { count: 2, spot: true });
    const checkpoint = await until('a checkpoint', () => readCheckpoint(jobId));
    const running = await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
    const member = running.replicas.find((each) => each.replica === replica);
    expect(await Promise.all(running.replicas.map((each) => describeVm(running, each)))).toEqual([
      'master-0 STANDARD',
      'worker-0 SPOT',
      'worker-1 SPOT',
    ]);

    expect((await cloud.act(`/vms/${member?.vmName}:${action}`)).ok).toBe(true);

    const ended = await cloud.awaitJob(jobId);
    expect(ended).toMatchObject({ state: 'SUCCEEDED', attempt: 2, attempts: [{ cause }, { cause: null }] });
    const last = await readCheckpoint(jobId);
    expect(stepOf(last)).toBeGreaterThan(stepOf(checkpoint));
    expect(await readManifest(jobId)).toEqual(expect.arrayContaining(shardsOf(last)));
    expect(JSON.stringify(await cloud.readLog(jobId))).toContain('connection closed');
    expect(await cloud.listVms()).toEqual([]);
  },
);

it('a healthy master saves its last checkpoint after the loss of a worker, and every replica continues from it', async () => {
  const jobId = 'saves_when_stopped';
  const job = { name: jobId, module: 'trainer.task', workers: 1 };
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(SAVES_WHEN_STOPPED, job));
  await until('a checkpoint', () => cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/checkpoint.txt`));
  const running = await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
  const worker = running.replicas.find(({ replica }) => replica === 'worker-0');

  expect((await cloud.act(`/vms/${worker?.vmName}:preempt`)).ok).toBe(true);

  expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 });
  // The agent has time to save after the program's grace period.
  expect(JSON.stringify(await cloud.readLog(jobId))).not.toContain('has not saved everything');
});

it('the secret of a running attempt is in no file of the cloud and its VMs, and its key in the database alone', async () => {
  await submit('hidden', 1);
  await until('a checkpoint', () => readCheckpoint('hidden'));
  const database = openDatabase(join(cloud.dataDir, 'dropforge.db'));
  const stored = database.sql
    .prepare('select key from deployment_keys')
    .all()
    .map(({ key }) => String(key));
  const job = (await openSqliteJobStore(database).read('hidden'))?.record;
  const ports = { deploymentKey: openSqliteDeploymentKey(database) };
  const answer = job && (await withPeerSecret(ports, job, { command: 'CONTINUE', reason: null }));
  database.close();

  expect(answer?.peerSecret).toMatch(/^[0-9a-f]{64}$/);
  expect(await findFilesWith(answer?.peerSecret ?? '')).toEqual([]);
  const filesWithKey = await findFilesWith(stored[0] ?? '');
  expect(filesWithKey.length).toBeGreaterThan(0);
  expect(filesWithKey.filter((name) => !/^dropforge\.db(-wal)?$/.test(name))).toEqual([]);
  await cloud.cancel('hidden');
});

it('a cluster with an exception in one replica fails with its traceback, although its peers exit too', async () => {
  // Its own group of arguments; the master's loss stays finite.
  await submit('raising', { count: 1, args: ['--learning-rate=inf'] });

  const { state, attempt, cause } = await cloud.awaitJob('raising');
  expect({ state, attempt }).toEqual({ state: 'FAILED', attempt: 1 });
  expect(cause).toMatchObject({
    code: 'PROGRAM_FAILED',
    message: expect.stringMatching(/^Replica worker-0 failed first: /),
  });
  expect(cause?.evidence).toContain('Traceback (most recent call last):');
  expect(cause?.evidence.at(-1)).toBe('ValueError: the loss of replica 1 in step 2 is inf');
  expect(JSON.stringify(await cloud.readLog('raising'))).toContain('connection closed');
});

/** The provisioning model of a replica's VM, as Compute Engine knows it. */
async function describeVm({ placement }: JobView, { replica, vmName }: JobView['replicas'][number]): Promise<string> {
  const { compute, projectId } = cloud.endpoints;
  const url = `${compute}/compute/v1/projects/${projectId}/zones/${placement?.zone}/instances/${vmName}`;
  const { scheduling } = (await (await fetch(url)).json()) as { scheduling: { provisioningModel: string } };
  return `${replica} ${scheduling.provisioningModel}`;
}

/** The files of the data directory, with the disks of the VMs, that have the text; files that vanish are passed over. */
async function findFilesWith(text: string): Promise<readonly string[]> {
  const found = promisify(execFile)('grep', ['-rlaF', '--', text, '.'], { cwd: cloud.dataDir });
  const { stdout } = await found.catch((error: { readonly stdout: string }) => error);
  return stdout.split('\n').flatMap((path) => (path === '' ? [] : [path.replace(/^\.\//, '')]));
}

type Index = readonly { readonly step: number; readonly shards: readonly string[] }[];

const parseIndex = (checkpoint: string | undefined): Index => JSON.parse(checkpoint ?? '[]');

function stepOf(checkpoint: string | undefined): number {
  return parseIndex(checkpoint).at(-1)?.step ?? 0;
}

/** The names of the shards, one of each replica. */
function shardsOf(checkpoint: string | undefined): string[] {
  return parseIndex(checkpoint).flatMap(({ shards }) => shards.map((shard) => `checkpoints/${shard}`));
}
