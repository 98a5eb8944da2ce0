import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { readServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import { startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import { type ImageRequest, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import type { Report } from '#shared/protocol/report.ts';
import { exampleRegistry } from '../support/api/example-registry.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { TRAINER, tarGzOf } from '../support/package/build-archives.ts';

let cloud: CloudUnderTest;
let isIntakeBroken = false;
let isRegistryDown = false;

const noAnswer = () => Promise.reject(new RegistryUnavailableError('ghcr.io', 'did not answer within 15 s'));

beforeAll(async () => {
  const wrapPorts = (ports: FunctionPorts) => ({
    ...ports,
    registry: { resolve: (image: ImageRequest) => (isRegistryDown ? noAnswer() : exampleRegistry().resolve(image)) },
    intake: {
      ...ports.intake,
      containers: { ...ports.intake.containers, allowsRoot: true, hasEngine: async () => true },
    },
    jobs: {
      ...ports.jobs,
      async create(...input: Parameters<typeof ports.jobs.create>) {
        if (isIntakeBroken) {
          throw new Error('The store failed.');
        }
        return ports.jobs.create(...input);
      },
    },
  });
  cloud = await startCloudUnderTest({ deliveriesMax: 3 }, { wrapPorts });
});

afterAll(() => cloud.stop());

function send(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end('x');
  });
}

it.each(['storage', 'api', 'pubsub', 'admin'] as const)('a web page cannot use the %s server', async (server) => {
  const url = `${cloud.endpoints[server]}/status`;

  expect(await send(url, { origin: 'https://evil.example' })).toBe(403);
  expect(await send(url, { host: 'evil.example:80' })).toBe(403);
  // An image of a foreign page has no origin.
  expect(await send(url, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).toBe(403);
  expect(await send(url, {})).not.toBe(403);
});

it.each(['vms/x:constructor', 'vms/x:toString', 'zones/us-central1-a:__proto__', 'vms/x'])(
  'the admin server knows no action %s',
  async (target) => {
    const answer = await fetch(`${cloud.endpoints.admin}/${target}`, { method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: { message: expect.stringMatching(/^Unknown (VM|zone) action/) } },
    ]);
  },
);

it('a second cloud on the same directory is rejected, independent of process ids', async () => {
  const second = startEmbeddedCloud({ dataDir: cloud.dataDir, environment: {}, writeLog: () => undefined });

  await expect(second).rejects.toThrow(/Another embedded cloud is running on/);
});

it('a failed start releases the directory', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-lock-'));
  const options = { dataDir, environment: process.env, writeLog: () => undefined };
  try {
    await expect(startEmbeddedCloud({ ...options, config: { vmsMax: 0 } })).rejects.toThrow(/vmsMax/);
    const started = await startEmbeddedCloud(options);
    await started.stop();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

it.each([
  ['before its functions are started', 'wrapPorts: () => { throw new Error("too late"); }'],
  ['among its functions', 'wrapPorts: (ports) => { createServer().listen(port, "127.0.0.1").unref(); return ports; }'],
])('a start that fails late, %s, closes everything it opened: its process exits', async (_when, option) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-late-'));
  const program = `
    import { createServer } from 'node:http';
    import { findFreePort } from '${new URL('../../infra/embedded/http/server.ts', import.meta.url)}';
    import { startEmbeddedCloud } from '${new URL('../../infra/embedded/embedded-cloud.ts', import.meta.url)}';
    const port = await findFreePort(0);
    const given = { dataDir: ${JSON.stringify(dataDir)}, environment: process.env, writeLog: () => {} };
    const started = startEmbeddedCloud({ ...given, ports: { heartbeat: port }, ${option} });
    await started.catch(({ message }) => process.stdout.write(message));
  `;
  try {
    const argv = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: 60_000 });
    expect(stdout).toMatch(/too late|Port \d+ is in use. Choose another port for the heartbeat server/);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('a start chooses other ports if another process binds one after it was chosen', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-port-'));
  const options = { dataDir, environment: process.env, writeLog: () => undefined };
  await (await startEmbeddedCloud(options)).stop();
  const { heartbeat } = await readServerPorts(dataDir);
  const thief = createServer();
  const wrapPorts = (ports: FunctionPorts) => {
    if (!thief.listening) {
      thief.listen(heartbeat, '127.0.0.1');
    }
    return ports;
  };
  try {
    const started = await startEmbeddedCloud({ ...options, wrapPorts });
    expect((await readServerPorts(dataDir)).heartbeat).not.toBe(heartbeat);
    await started.stop();
  } finally {
    thief.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('an upload that no attempt could process gets a report that says so, and is a dead letter', async () => {
  isIntakeBroken = true;
  await cloud.upload('unlucky.tar.gz', await packProgram('print(1)\n', jobFile('unlucky')));

  const report = await cloud.awaitReport('unlucky.tar.gz.report.json');

  expect(report).toMatchObject({ verdict: 'REFUSED', problems: [{ code: 'INTERNAL_ERROR' }] });
  const status = (await (await fetch(`${cloud.endpoints.admin}/status`)).json()) as { queues: object[] };
  expect(status.queues).toContainEqual({ topic: 'uploads', waiting: 0, deadLetters: 1 });
});

const isRefused = ({ verdict }: Report) => verdict === 'REFUSED';

it('a message that no attempt could process gets a report that says so', async () => {
  isIntakeBroken = true;
  const program = { packageUris: [`gs://${cloud.endpoints.uploadBucket}/code.tar.gz`] };
  await cloud.upload('code.tar.gz', tarGzOf(TRAINER));
  const messageId = await cloud.publish('dropforge-submit', jobFile('unlucky_message', program));

  const report = await cloud.awaitReport(`submitted/${messageId}.report.json`);

  const source = `pubsub://submit/${messageId}`;
  expect(report).toMatchObject({ verdict: 'REFUSED', source, problems: [{ code: 'INTERNAL_ERROR' }] });
});

it('job files whose registry stays down are refused after the last attempt, in the bucket and on the topic', async () => {
  const job = 'image: ghcr.io/o/digits:1\nmachine: n1-standard-4\n';
  await cloud.upload('later/job.yaml', `name: later\nmodule: trainer.task\npackages: [code.tar.gz]\n${job}`);
  const waiting = await cloud.awaitReport('later/job.yaml.report.json');
  expect(waiting).toMatchObject({ verdict: 'WAITING', problems: [{ code: 'PACKAGE_MISSING' }] });
  isRegistryDown = true;
  await cloud.upload('later/code.tar.gz', tarGzOf(TRAINER));
  const messageId = await cloud.publish('dropforge-submit', `name: topic\n${job}`);

  const refused = { verdict: 'REFUSED', problems: [{ code: 'REGISTRY_UNAVAILABLE' }] };
  expect(await cloud.awaitReport('later/job.yaml.report.json', isRefused)).toMatchObject(refused);
  expect(await cloud.awaitReport(`submitted/${messageId}.report.json`, isRefused)).toMatchObject(refused);
});
