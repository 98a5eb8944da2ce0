import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FunctionName, topicOf } from '#functions/functions.ts';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { type EmbeddedPorts, openEmbeddedPorts } from '#infra/embedded/embedded-ports.ts';
import { type FunctionServers, startFunctionServers } from '#infra/embedded/function-servers.ts';
import { traceIdOf } from '#shared/observability/invocation.ts';
import { createLogger } from '#shared/observability/logger.ts';
import heartbeat from '#shared/protocol/golden/heartbeat-running.json' with { type: 'json' };
import { runningTrial, searchingTuning } from '../support/domain/example-tuning.ts';
import { jobFile, packFiles, packProgram } from '../support/e2e/cloud-under-test.ts';
import { SCHEMA_FUNCTIONS } from '../support/functions/message-content.ts';
import { startWebhookServer, type WebhookServer } from '../support/notifications/webhook-server.ts';

const SOURCE_PORTS = { storage: 1, cloud: 1, api: 1, heartbeat: 1 };

let dataDir: string;
let ports: EmbeddedPorts;
let servers: FunctionServers;
let isStoreDown = false;
const log: Record<string, unknown>[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dropforge-functions-'));
  const options = { projectId: 'p', release: 'r1' };
  const logger = createLogger((line) => void log.push(JSON.parse(line) as Record<string, unknown>), options);
  const notifications = { hook: { kind: 'slack', secret: 'hook-url' } };
  const config = parseEmbeddedConfig({ notifications }, 'the configuration');
  ports = await openEmbeddedPorts({ dataDir, config, serverPorts: SOURCE_PORTS, logger, environment: process.env });
  const { jobs } = ports.functions;
  const sometimesDown = {
    ...jobs,
    async read(jobId: string) {
      if (isStoreDown) {
        throw new Error('The store is unavailable.');
      }
      return jobs.read(jobId);
    },
  };
  servers = await startFunctionServers({ ...ports.functions, jobs: sometimesDown }, {});
});

afterAll(async () => {
  await servers.close();
  await ports.vms.close({ isKeepingVms: false });
  ports.database.close();
  await rm(dataDir, { recursive: true, force: true });
});

function post(name: FunctionName, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const url = `http://127.0.0.1:${servers.portOf(name)}/projects/p/topics/t`;
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
}

/** Sends a message as Pub/Sub pushes it to an endpoint. */
function push(name: FunctionName, data: string, deliveryAttempt = 1): Promise<Response> {
  const message = { data: Buffer.from(data).toString('base64'), messageId: `m-${data.length}`, attributes: {} };
  return post(name, JSON.stringify({ subscription: 'projects/p/subscriptions/s', message, deliveryAttempt }));
}

/** Sends a notification as Cloud Storage does after an upload. */
function finalize(name: string, generation: string): Promise<Response> {
  const { uploadBucket: bucket } = ports;
  return push('on-upload', JSON.stringify({ bucket, name, generation, size: '1', kind: 'storage#object' }));
}

async function uploadProgram(jobId: string, program = 'print(1)\n') {
  const bytes = await packProgram(program, jobFile(jobId));
  const info = await ports.objects.write({ bucket: ports.uploadBucket, name: `${jobId}.tar.gz` }, bytes);
  if (typeof info === 'string') {
    throw new Error(info);
  }
  return info;
}

it('creates one job for an upload, however often the notification is delivered', async () => {
  const info = await uploadProgram('delivered_twice');

  const responses = [await finalize(info.name, info.generation), await finalize(info.name, info.generation)];

  expect(responses.map(({ status }) => status)).toEqual([204, 204]);
  expect((await ports.functions.jobs.read('delivered_twice'))?.record).toMatchObject({
    status: 'QUEUED',
    packages: [{ generation: info.generation, crc32c: info.crc32c }],
  });
});

it('rejects another job with the same id, and does not change the first', async () => {
  const first = await uploadProgram('existing');
  await finalize(first.name, first.generation);
  await push('report', JSON.stringify({ type: 'JOB_UPDATE', jobId: 'existing', state: 'QUEUED', attempt: 1 }));
  const before = await ports.functions.jobs.read('existing');
  const second = await uploadProgram('existing', 'print("something else")\n');

  await finalize(second.name, second.generation);

  expect(await ports.functions.jobs.read('existing')).toEqual(before);
  const own = await ports.objects.stat({
    bucket: first.bucket,
    name: `${first.name}.${first.generation}.report.json`,
  });
  expect(own, 'the first keeps a report').toBeDefined();
});

it('reports a job file that was published twice on both messages, as one job', async () => {
  const { uploadBucket: bucket } = ports;
  const bytes = await packFiles({ 'pkg/trainer/__init__.py': '', 'pkg/trainer/task.py': 'print(1)' });
  await ports.objects.write({ bucket, name: 'published.tar.gz' }, bytes);
  const file = JSON.stringify(jobFile('published', { packageUris: [`gs://${bucket}/published.tar.gz`] }));
  const publish = (messageId: string) => {
    const message = { data: Buffer.from(file).toString('base64'), messageId, attributes: {} };
    return post('on-submit', JSON.stringify({ subscription: 'projects/p/subscriptions/s', message }));
  };

  const answers = [await publish('1'), await publish('2'), await publish('2')];

  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
  const { source } = (await ports.functions.jobs.read('published'))?.record ?? {};
  expect(source?.reportUri).toBe(`gs://${bucket}/submitted/1.report.json`);
  const report = await ports.objects.read({ bucket, name: 'submitted/2.report.json' });
  expect(JSON.parse(await text(report ?? Readable.from([])))).toMatchObject({
    verdict: 'ACCEPTED',
    jobId: 'published',
    problems: [],
  });
});

it('resumes a job file that waits for its package, however many files the folder has', async () => {
  const { uploadBucket: bucket } = ports;
  for (let number = 0; number < 60; number += 1) {
    await ports.objects.write({ bucket, name: `full/a${number}.txt` }, Buffer.from('x'));
  }
  const job = JSON.stringify(jobFile('waiting', { packageUris: ['pkg.tar.gz'] }));
  await ports.objects.write({ bucket, name: 'full/job.json' }, Buffer.from(job));
  const bytes = await packFiles({ 'pkg/trainer/__init__.py': '', 'pkg/trainer/task.py': 'print(1)' });
  const info = await ports.objects.write({ bucket, name: 'full/pkg.tar.gz' }, bytes);

  await finalize('full/pkg.tar.gz', typeof info === 'string' ? info : info.generation);

  expect((await ports.functions.jobs.read('waiting'))?.record.status).toBe('QUEUED');
});

it.each(SCHEMA_FUNCTIONS)('%s logs a malformed message and acknowledges it', async (name) => {
  log.length = 0;

  expect((await push(name, 'not JSON'.repeat(5_000), 3)).status).toBe(204);
  expect(log).toMatchObject([
    {
      ...{ severity: 'ERROR', message: 'message is malformed', kind: 'error', problem: expect.any(String) },
      ...{ messageId: 'm-40000', deliveryAttempt: 3, topic: topicOf(name) },
      serviceContext: { service: name, version: 'r1' },
      'logging.googleapis.com/trace': expect.stringMatching(/^projects\/p\/traces\/[0-9a-f]{32}$/),
    },
  ]);
});

it('cancels a job created after the cancel request, and drops the request for one that never exists', async () => {
  const cancel = (jobId: string, publishedAt: number) => {
    const data = Buffer.from(JSON.stringify({ command: 'cancel', jobId })).toString('base64');
    const message = { data, messageId: `c-${jobId}`, attributes: {}, publishTime: new Date(publishedAt).toISOString() };
    return post('on-control', JSON.stringify({ subscription: 'projects/p/subscriptions/s', message }));
  };
  const { earlyCancelMs } = ports.functions.timeouts;
  log.length = 0;

  expect((await cancel('early', Date.now())).status).toBe(500);
  const info = await uploadProgram('early');
  await finalize(info.name, info.generation);
  expect((await cancel('early', Date.now())).status).toBe(204);
  expect((await ports.functions.jobs.read('early'))?.record).toMatchObject({ verdict: { state: 'CANCELLED' } });

  expect((await cancel('unknown', Date.now() - earlyCancelMs)).status).toBe(204);
  const others = log.filter(({ kind }) => kind === undefined);
  expect(others.map(({ message }) => message)).toEqual(['message is redelivered later', 'job to cancel is unknown']);
});

it('responds to a transient error with 500, so that the message is redelivered', async () => {
  isStoreDown = true;
  const message = JSON.stringify({ type: 'TEARDOWN', jobId: 'delivered_twice' });

  expect((await push('teardown', message)).status).toBe(500);

  isStoreDown = false;
  expect((await push('teardown', message)).status).toBe(204);
});

it('handles a step of a tuning, and has it redelivered after a transient error', async () => {
  const { tunings, jobs } = ports.functions;
  const running = [{ ordinal: 1, jobId: 'study_trial_1', since: 0, checkedAt: 0, isStopping: false, lostBefore: 0 }];
  const tuning = searchingTuning({ tuningId: 'study', running });
  await tunings.create(tuning, []);
  const trials = [runningTrial(1, { tuningId: 'study' })];
  await tunings.commit({ expectedRevision: 1, eventId: 'e', record: tuning, trials, effects: [] });
  const message = JSON.stringify({ type: 'START_TRIAL', tuningId: 'study', ordinal: 1 });

  isStoreDown = true;
  expect((await push('tuning', message)).status).toBe(500);
  isStoreDown = false;
  expect((await push('tuning', message)).status).toBe(204);

  expect((await jobs.read('study_trial_1'))?.record).toMatchObject({ status: 'QUEUED', trial: { ordinal: 1 } });
});

describe('notify', () => {
  let webhook: WebhookServer;
  beforeAll(async () => {
    webhook = await startWebhookServer();
    ports.secrets.create('hook-url');
    ports.secrets.addVersion('hook-url', Buffer.from(`${webhook.url}/services/token`));
  });
  afterAll(() => webhook.close());

  const notify = (data: object, subscription = 'notify-hook') => {
    const message = { data: Buffer.from(JSON.stringify(data)).toString('base64'), messageId: 'n', attributes: {} };
    return fetch(`http://127.0.0.1:${servers.portOf('notify')}/projects/p/topics/${subscription}`, {
      method: 'POST',
      body: JSON.stringify({ subscription: `projects/p/subscriptions/${subscription}`, message }),
      headers: { 'content-type': 'application/json' },
    });
  };
  const test = (testId: string) => ({ type: 'NOTIFICATION_TEST', testId, channel: 'hook' });
  const outcomeOf = async (testId: string) =>
    (await ports.functions.notifications.find(`test-${testId}-hook`))?.outcome;

  it('sends a message once, however often it is delivered', async () => {
    expect((await notify(test('once'))).status).toBe(204);
    expect((await notify(test('once'))).status).toBe(204);
    expect(webhook.received.map(({ path }) => path)).toEqual(['/services/token']);
    expect(await outcomeOf('once')).toBe('SENT');
  });

  it('does not send a message again that was sent and then became a dead letter', async () => {
    await notify(test('dead'));
    const sentCount = webhook.received.length;
    const data = Buffer.from(JSON.stringify(test('dead'))).toString('base64');
    const attributes = { CloudPubSubDeadLetterSourceSubscription: 'dropforge-notify-hook' };
    const message = { data, messageId: 'd', attributes };
    log.length = 0;
    await post('on-dead-letter', JSON.stringify({ subscription: 'projects/p/subscriptions/dead', message }));
    expect(log).toMatchObject([{ severity: 'WARNING', kind: 'notification', channel: 'hook', messageId: 'd' }]);
    expect(await outcomeOf('dead')).toBe('SENT');
    expect((await notify(test('dead'))).status).toBe(204);
    expect(webhook.received).toHaveLength(sentCount);
  });

  it('has a message redelivered while the channel is down, and sends it then', async () => {
    webhook.answer = (_, response) => void response.writeHead(503).end();
    expect((await notify(test('later'))).status).toBe(500);
    expect(await outcomeOf('later')).toBe('RETRYING');
    webhook.answer = (_, response) => void response.writeHead(200).end();
    expect((await notify(test('later'))).status).toBe(204);
    expect(await outcomeOf('later')).toBe('SENT');
  });

  it('does not call a channel before the time that it has asked for', async () => {
    webhook.answer = (_, response) => void response.writeHead(429, { 'retry-after': '600' }).end();
    expect((await notify(test('early'))).status).toBe(500);
    const calledCount = webhook.received.length;
    expect((await notify(test('early'))).status).toBe(500);
    expect(webhook.received).toHaveLength(calledCount);
  });

  it('acknowledges what is final, is for no channel, or for one whose name every object has', async () => {
    webhook.answer = (_, response) => void response.writeHead(404).end();
    log.length = 0;
    expect((await notify(test('final'))).status).toBe(204);
    expect(log).toMatchObject([{ severity: 'WARNING', kind: 'notification', outcome: 'REJECTED' }]);
    expect(await outcomeOf('final')).toBe('REJECTED');
    const before = webhook.received.length;
    expect((await notify(test('final'))).status).toBe(204);
    for (const subscription of ['notify-removed', 'notify-constructor', 'job-updates']) {
      const channel = subscription.replace('notify-', '');
      expect((await notify({ ...test('none'), channel }, subscription)).status, subscription).toBe(204);
    }
    expect(webhook.received).toHaveLength(before);
  });
});

it('records a dead letter on its job', async () => {
  const info = await uploadProgram('poisoned');
  await finalize(info.name, info.generation);
  const data = Buffer.from(JSON.stringify({ type: 'PROVISION', jobId: 'poisoned', attempt: 1, placementRound: 1 }));
  const attributes = {
    CloudPubSubDeadLetterSourceSubscription: 'provision',
    CloudPubSubDeadLetterSourceDeliveryCount: '8',
  };
  const message = { data: data.toString('base64'), messageId: '77', attributes };

  log.length = 0;
  await post('on-dead-letter', JSON.stringify({ subscription: 'projects/p/subscriptions/dead', message }));

  expect(log[0]).toMatchObject({ severity: 'ERROR', topic: 'provision', jobId: 'poisoned' });
  expect((await ports.functions.jobs.read('poisoned'))?.record).toMatchObject({
    status: 'QUEUED',
    isBackingOff: true,
    placementRound: 2,
    waitingFor: { code: 'INTERNAL_ERROR', evidence: [expect.stringContaining('77')] },
  });
});

it('rejects heartbeats without a signed identity', async () => {
  const body = JSON.stringify(heartbeat);
  const forged = `Bearer ${['{"alg":"none"}', '{"google":{}}', ''].map((part) => Buffer.from(part).toString('base64url')).join('.')}`;

  expect((await post('heartbeat', body)).status).toBe(401);
  expect((await post('heartbeat', body, { authorization: forged })).status).toBe(401);
});

async function authorizationOfStranger(): Promise<{ authorization: string }> {
  const vm = { vmName: 'df-stranger', zone: 'us-central1-a', instanceId: '1', createdAt: 0, serviceAccount: null };
  const audience = `http://127.0.0.1:${SOURCE_PORTS.heartbeat}/heartbeat`;
  return { authorization: `Bearer ${await ports.identity.issueToken(vm, { audience, format: 'full' })}` };
}

it('responds STOP to a VM that belongs to no job', async () => {
  const json = await post('heartbeat', JSON.stringify(heartbeat), await authorizationOfStranger());
  expect(await json.json()).toMatchObject({ command: 'STOP' });
});

it.each(['heartbeat', 'api'] as const)('logs an error of %s in the trace of the job that it is about', async (name) => {
  const { jobId } = heartbeat;
  log.length = 0;
  isStoreDown = true;
  const response =
    name === 'api'
      ? await fetch(`http://127.0.0.1:${servers.portOf('api')}/v1/jobs/${jobId}`)
      : await post('heartbeat', JSON.stringify(heartbeat), await authorizationOfStranger());
  isStoreDown = false;
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringMatching(/unavailable|\bat /)]);
  expect(log).toMatchObject([
    {
      ...{ severity: 'ERROR', jobId, serviceContext: { service: name } },
      'logging.googleapis.com/trace': `projects/p/traces/${traceIdOf(jobId)}`,
    },
  ]);
});

it('answers 2,000 heartbeats at once, or says when to repeat them', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 2_000 }, async () => {
      const response = await post('heartbeat', JSON.stringify(heartbeat));
      await response.arrayBuffer();
      return response.status === 503 ? `503 after ${response.headers.get('retry-after')}` : `${response.status}`;
    }),
  );
  expect([...new Set(statuses)].sort()).toEqual(expect.arrayContaining(['401']));
  expect(statuses.filter((status) => !['401', '503 after 5'].includes(status))).toEqual([]);
});

describe('a request that is not valid', () => {
  /** The status, and the message of an answer in JSON. */
  async function answerOf(response: Response): Promise<readonly [number, string]> {
    const { error } = (await response.json()) as { readonly error: { readonly message: string } };
    return [response.status, error.message];
  }

  it.each(['{', '', 'null', '[1,', '{"a":'])('is answered with JSON, after its token was checked: %j', async (body) => {
    expect((await answerOf(await post('heartbeat', body)))[0]).toBe(401);
    const [status, message] = await answerOf(await post('heartbeat', body, await authorizationOfStranger()));
    expect([status, message]).toEqual([400, expect.stringContaining('Invalid input')]);
    expect((await answerOf(await post('api', body)))[0]).toBe(404);
  });

  it('is rejected by its length before it is read, and without one', async () => {
    expect(await answerOf(await post('heartbeat', 'x'.repeat(65_537)))).toEqual([
      413,
      'The body has 65537 bytes; the maximum is 65536.',
    ]);
    const url = `http://127.0.0.1:${servers.portOf('api')}/v1/jobs`;
    const chunked = await fetch(url, {
      method: 'POST',
      body: new Blob(['{}']).stream(),
      duplex: 'half',
    } as RequestInit);
    expect((await answerOf(chunked))[0]).toBe(411);
  });
});

it('serves jobs over HTTP, and describes what is wrong with a request', async () => {
  const url = `http://127.0.0.1:${servers.portOf('api')}/v1/jobs`;

  expect(await (await fetch(`${url}/delivered_twice`)).json()).toMatchObject({
    jobId: 'delivered_twice',
    state: 'QUEUED',
  });
  expect((await fetch(`${url}/unknown`)).status).toBe(404);
  expect(await (await fetch(`${url}/2-bad`)).json()).toMatchObject({
    error: { code: 400, remedy: expect.any(String) },
  });
  expect(await (await fetch(`${url}/delivered_twice:cancel`, { method: 'POST' })).json()).toMatchObject({
    state: 'CANCELLING',
  });
});
