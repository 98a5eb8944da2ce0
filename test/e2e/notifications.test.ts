import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { startWebhookServer, type WebhookServer } from '../support/notifications/webhook-server.ts';

const KEY = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

let cloud: CloudUnderTest;
let webhook: WebhookServer;
let broken: WebhookServer;

beforeAll(async () => {
  webhook = await startWebhookServer();
  broken = await startWebhookServer();
  cloud = await startCloudUnderTest({
    deliveriesMax: 5,
    notifications: {
      hook: {
        kind: 'webhook',
        secret: 'hook-url',
        signingSecret: 'hook-key',
        states: ['SUCCEEDED', 'FAILED', 'REFUSED'],
      },
      broken: { kind: 'slack', secret: 'broken-url' },
      quiet: { kind: 'discord', secret: 'quiet-url', labels: { team: 'vision' } },
    },
  });
  await storeSecret('hook-url', `${webhook.url}/hook`);
  await storeSecret('hook-key', `whsec_${KEY}`);
  await storeSecret('broken-url', `${broken.url}/services/T0/B0/very-secret-token`);
  await storeSecret('quiet-url', `${webhook.url}/quiet`);
});

afterAll(async () => {
  await cloud.stop();
  await webhook.close();
  await broken.close();
});

async function storeSecret(name: string, value: string): Promise<void> {
  const url = `${cloud.endpoints.secretManager}/v1/projects/${cloud.endpoints.projectId}/secrets`;
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}?secretId=${name}`, { method: 'POST', headers, body: '{}' });
  const body = JSON.stringify({ payload: { data: Buffer.from(value).toString('base64') } });
  const response = await fetch(`${url}/${name}:addVersion`, { method: 'POST', headers, body });
  expect(response.status).toBe(200);
}

type Listed = {
  readonly channels: readonly { readonly channel: string; readonly last: { readonly outcome: string } | null }[];
  readonly failed: readonly { readonly channel: string; readonly outcome: string; readonly problem: string }[];
};

async function listNotifications(): Promise<Listed> {
  return (await (await fetch(`${cloud.endpoints.api}/v1/notifications`)).json()) as Listed;
}

const about = (jobId: string, { received }: WebhookServer) => received.filter(({ body }) => body.includes(jobId));

it('sends one signed message when a job has succeeded, with its metrics, price and address', async () => {
  const program = `
import json, os
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file: file.write(json.dumps({'step': 1, 'accuracy': 0.9612}) + chr(10))
with open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'model'), 'w') as file: file.write('m')
`;
  await cloud.upload('good.tar.gz', await packProgram(program, jobFile('good')));
  await cloud.awaitJob('good');
  const [message] = await until('a message', async () => {
    const found = about('good', webhook);
    return found.length > 0 ? found : undefined;
  });

  const { headers, body = '', path } = message ?? {};
  const [id, timestamp] = [headers?.['webhook-id'], headers?.['webhook-timestamp']];
  const signed = createHmac('sha256', Buffer.from(KEY, 'base64')).update(`${id}.${timestamp}.${body}`).digest('base64');
  expect(headers?.['webhook-signature']).toBe(`v1,${signed}`);
  expect(Math.abs(Date.now() / 1_000 - Number(timestamp))).toBeLessThan(120);
  expect([path, id]).toEqual(['/hook', 'good-1-SUCCEEDED-hook']);
  expect(JSON.parse(body)).toMatchObject({
    type: 'job.succeeded',
    data: {
      title: 'good SUCCEEDED',
      metrics: { accuracy: 0.9612 },
      job: { costUsd: expect.any(Number), links: { page: `${cloud.endpoints.api}/jobs/good` } },
    },
  });
});

it('sends a failure with cause, evidence and remedy, and a refused upload', async () => {
  await cloud.upload('bad.tar.gz', await packProgram('raise ValueError("no data <!channel>")\n', jobFile('bad')));
  await cloud.upload('mars.json', JSON.stringify(jobFile('to_mars', { region: 'mars' })));
  await cloud.awaitJob('bad');
  const [failed, refused] = await until('both messages', async () => {
    const found = [...about('bad FAILED', webhook), ...about('to_mars REFUSED', webhook)];
    return found.length === 2 ? found.map(({ body }): unknown => JSON.parse(body)) : undefined;
  });
  expect(failed).toMatchObject({
    type: 'job.failed',
    data: { job: { cause: { code: 'PROGRAM_FAILED', remedy: expect.any(String) } } },
  });
  expect(JSON.stringify(failed)).toContain('ValueError: no data');
  expect(refused).toMatchObject({
    type: 'upload.refused',
    data: { problems: expect.arrayContaining([expect.objectContaining({ code: 'UNKNOWN_REGION' })]) },
  });
});

it('delays no job for a channel that does not answer, redelivers when it is back, and sends nothing twice', async () => {
  broken.answer = () => undefined;
  await cloud.upload('hasty.tar.gz', await packProgram('print(1)\n', jobFile('hasty')));
  await cloud.awaitJob('hasty');
  await until('the other channel', async () => about('hasty SUCCEEDED', webhook)[0]);
  expect(about('hasty', broken).length, 'the broken channel has not answered').toBeLessThanOrEqual(1);

  broken.answer = (_, response) => void response.writeHead(503).end('down');
  await until('a failed delivery', async () => (about('hasty', broken).length >= 2 ? true : undefined));
  broken.answer = (_, response) => void response.writeHead(200).end('ok');
  const channels = await until('a delivery', async () => {
    const { channels: listed } = await listNotifications();
    return listed.find(({ channel }) => channel === 'broken')?.last?.outcome === 'SENT' ? listed : undefined;
  });

  expect(channels.find(({ channel }) => channel === 'hook')?.last?.outcome).toBe('SENT');
  expect(about('hasty SUCCEEDED', webhook)).toHaveLength(1);
  expect(about('good SUCCEEDED', webhook)).toHaveLength(1);
});

it('records what a channel did not take in all deliveries, without the address', async () => {
  broken.answer = ({ path }, response) => void response.writeHead(500).end(`no such thing as ${path}`);
  await cloud.upload('lost.tar.gz', await packProgram('print(1)\n', jobFile('lost')));
  const { failed } = await until('a dead letter', async () => {
    const listed = await listNotifications();
    return listed.failed.some(({ outcome }) => outcome === 'UNDELIVERED') ? listed : undefined;
  });
  expect(failed[0]).toMatchObject({
    channel: 'broken',
    outcome: 'UNDELIVERED',
    title: 'lost SUCCEEDED, but 1 warning',
    problem: expect.stringMatching(
      /^Not delivered in 5 deliveries. The channel answered HTTP 500 \("no such thing as \*\*\*"\)/,
    ),
  });
  expect(await cloud.awaitJob('lost')).toMatchObject({ state: 'SUCCEEDED' });
  expect(`${JSON.stringify(failed)}${cloud.log.join('')}`).not.toContain('very-secret-token');
});

it('notifies the channels and states that a job names, and rejects a channel that does not exist', async () => {
  broken.answer = (_, response) => void response.writeHead(200).end('ok');
  const notify = (name: string, channels: readonly string[]) =>
    packProgram('print(1)\n', { name, module: 'trainer.task', notify: { channels, states: ['RUNNING', 'SUCCEEDED'] } });
  await cloud.upload('named.tar.gz', await notify('named', ['quiet']));
  await cloud.upload('typo.tar.gz', await notify('typo', ['quite', 'https://hooks.example.com/secret']));

  expect(await cloud.awaitReport('typo.tar.gz.report.json')).toMatchObject({
    verdict: 'REFUSED',
    problems: [
      { code: 'UNKNOWN_CHANNEL', message: expect.stringContaining('quite'), remedy: expect.stringContaining('quiet') },
      { code: 'UNKNOWN_CHANNEL', message: expect.not.stringContaining('hooks.example.com') },
    ],
  });
  await cloud.awaitJob('named');
  await until('the message', async () => about('named SUCCEEDED', webhook)[0]);
  expect(about('named', webhook).map(({ path }) => path)).not.toContain('/hook');
  expect(about('hasty', webhook).map(({ path }) => path)).not.toContain('/quiet');
});
