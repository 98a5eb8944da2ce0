import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packFiles,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** Counts to 40 and saves a checkpoint at every step, which the next attempt restores. */
const COUNTER = `
import json, os, time
place = os.path.join(os.environ["DROPFORGE_OUTPUT_DIR"], "checkpoint.json")
start = json.load(open(place))["step"] if os.path.exists(place) else 0
print(f"starting at {start}", flush=True)
for step in range(start + 1, 41):
    time.sleep(0.1)
    with open(place + ".tmp", "w") as file: json.dump({"step": step}, file)
    os.replace(place + ".tmp", place)
    with open(os.environ["DROPFORGE_METRICS_FILE"], "a") as file: file.write(json.dumps({"step": step, "steps": 40, "loss": 1 / step}) + "\\n")
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({
    timeouts: { syncMs: 300 },
    preemptionNoticeSeconds: 2,
    zones: ['a', 'b'].map((letter) => ({ name: `us-central1-${letter}`, vmsMax: 4 })),
    vmsMax: 4,
  });
});

afterAll(() => cloud.stop());

async function stepsOf(jobId: string): Promise<readonly string[]> {
  return (await cloud.readLog(jobId)).map(({ text }) => text).filter((text) => text.startsWith('starting at'));
}

it('a job continues from its last checkpoint after a preemption of its VM', async () => {
  await cloud.upload('preempted.tar.gz', await packProgram(COUNTER, jobFile('preempted')));
  const running = await cloud.awaitJob('preempted', ({ replicas }) => (replicas[0]?.step ?? 0) >= 10);
  await cloud.act(`/vms/${running.replicas[0]?.vmName}:preempt`);

  const ended = await cloud.awaitJob('preempted');

  expect(ended).toMatchObject({ state: 'SUCCEEDED', attempt: 2, attempts: [{ cause: 'PREEMPTED' }, { cause: null }] });
  const [first, second] = await stepsOf('preempted');
  expect(first).toBe('starting at 0');
  expect(Number(second?.split(' ').at(-1))).toBeGreaterThanOrEqual(9);
  expect(JSON.parse((await cloud.readObject(cloud.endpoints.jobsBucket, 'preempted/checkpoint.json')) ?? '')).toEqual({
    step: 40,
  });
});

it('a job continues in a new attempt after a host error', async () => {
  await cloud.upload('crashed.tar.gz', await packProgram(COUNTER, jobFile('crashed')));
  const running = await cloud.awaitJob('crashed', ({ replicas }) => (replicas[0]?.step ?? 0) >= 10);
  await cloud.act(`/vms/${running.replicas[0]?.vmName}:hostError`);

  expect(await cloud.awaitJob('crashed')).toMatchObject({
    state: 'SUCCEEDED',
    attempt: 2,
    attempts: [{ cause: 'VM_TERMINATED' }, { cause: null }],
  });
});

it('a job survives a reboot of its VM in the same attempt', async () => {
  await cloud.upload('rebooted.tar.gz', await packProgram(COUNTER, jobFile('rebooted')));
  const running = await cloud.awaitJob('rebooted', ({ replicas }) => (replicas[0]?.step ?? 0) >= 10);
  await cloud.act(`/vms/${running.replicas[0]?.vmName}:reset`);

  expect(await cloud.awaitJob('rebooted')).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
  expect(await stepsOf('rebooted')).toHaveLength(2);
});

it('a job is placed in another zone if the first has no capacity, and waits if none has', async () => {
  await cloud.act('/zones/us-central1-a:stockout');
  await cloud.upload('elsewhere.tar.gz', await packProgram('print(1)\n', jobFile('elsewhere')));
  expect(await cloud.awaitJob('elsewhere')).toMatchObject({
    state: 'SUCCEEDED',
    attempt: 1,
    attempts: [{ zone: 'us-central1-b' }],
  });

  await cloud.act('/zones/us-central1-b:stockout');
  await cloud.upload(
    'waiting.tar.gz',
    await packProgram('print(1)\n', jobFile('waiting', { scaleTier: 'CUSTOM', masterType: 'n1-standard-8' })),
  );
  const waiting = await cloud.awaitJob('waiting', ({ waitingFor }) => waitingFor !== null);
  expect(waiting).toMatchObject({ state: 'QUEUED', waitingFor: { code: 'STOCKOUT' } });
  await cloud.cancel('waiting');
  expect(await cloud.awaitJob('waiting')).toMatchObject({ state: 'CANCELLED', cause: { code: 'CANCELLED_BY_USER' } });
  await cloud.act('/zones/us-central1-a:restock');
  await cloud.act('/zones/us-central1-b:restock');
});

it('a running job that is canceled ends within seconds', async () => {
  await cloud.upload('cancelled.tar.gz', await packProgram(COUNTER, jobFile('cancelled')));
  await cloud.awaitJob('cancelled', ({ state }) => state === 'RUNNING');
  await cloud.publish('dropforge-control', { command: 'cancel', jobId: 'cancelled' });

  expect(await cloud.awaitJob('cancelled')).toMatchObject({ state: 'CANCELLED' });
  expect((await cloud.listVms()).filter(({ jobId }) => jobId === 'cancelled')).toEqual([]);
});

it('a job file and its package are submitted in either order', async () => {
  const { jobId: _, ...job } = jobFile('unused', { packageUris: ['pkg.tar.gz'] }) as { jobId: string };
  const packed = await packFiles({
    'pkg/setup.py': "from setuptools import setup\nsetup(name='pkg', version='1', packages=['trainer'])\n",
    'pkg/trainer/__init__.py': '',
    'pkg/trainer/task.py': 'print(1)\n',
    'pkg/config.yaml': 'model: { layers: 3 }\n',
  });
  for (const [folder, names] of [
    ['one', ['job.json', 'pkg.tar.gz']],
    ['two', ['pkg.tar.gz', 'job.json']],
  ] as const) {
    for (const name of names) {
      await cloud.upload(`${folder}/${name}`, name === 'job.json' ? JSON.stringify({ jobId: folder, ...job }) : packed);
      if (name === names[0]) {
        expect(await cloud.awaitReport(`${folder}/${name}.report.json`), folder).toMatchObject({ verdict: 'WAITING' });
      }
    }
    expect(await cloud.awaitJob(folder), folder).toMatchObject({ state: 'SUCCEEDED' });
    const accepted = await cloud.awaitReport(`${folder}/job.json.report.json`, ({ job }) => job?.state === 'SUCCEEDED');
    expect(accepted, folder).toMatchObject({ verdict: 'ACCEPTED', jobId: folder });
  }
});

it('a message on the submit topic submits a job, and the same message again changes nothing', async () => {
  await cloud.upload('packages/by-message.tar.gz', await packProgram('print(1)\n', {}));
  const uri = `gs://${cloud.endpoints.uploadBucket}/packages/by-message.tar.gz`;
  const message = JSON.stringify(jobFile('by_message', { packageUris: [uri] }));
  await cloud.publish('dropforge-submit', message);
  await cloud.publish('dropforge-submit', message);

  const job = await cloud.awaitJob('by_message');

  expect(job).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
  expect(job.source).toMatch(/^pubsub:\/\/submit\//);
});

it('the demo trains a model and leaves nothing running', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-demo-'));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [
      CLI,
      'demo',
      '--format=json',
      '--data-dir',
      dataDir,
    ]);
    const { vms, job } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      vms: unknown[];
      job: { state: string; replicas: { metrics: { accuracy: number } }[] };
    };
    expect(vms).toEqual([]);
    expect(job.state).toBe('SUCCEEDED');
    expect(job.replicas[0]?.metrics.accuracy).toBeGreaterThanOrEqual(0.94);
    expect(await findMarkedProcesses(dataDir)).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('no VM and no process of these jobs remains', async () => {
  await until('no VM', async () => ((await cloud.listVms()).length === 0 ? true : undefined));
  expect(await findMarkedProcesses(cloud.dataDir)).toEqual([]);
});
