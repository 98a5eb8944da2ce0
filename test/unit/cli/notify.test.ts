import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { createNotificationSender } from '#infra/notifications/notification-sender.ts';
import { createApiApp } from '#shared/api/api-app.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { deliverNotification } from '#shared/use-cases/notify/deliver-notification.ts';
import { openApiUnderTest } from '../../support/api/api-under-test.ts';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';
import { startWebhookServer, type WebhookServer } from '../../support/notifications/webhook-server.ts';

const CHANNELS = notificationChannelsSchema.parse({
  team: { kind: 'slack', secret: 'slack-team', labels: { team: 'vision' } },
  hook: { kind: 'webhook', secret: 'hook-url', signingSecret: 'hook-key', states: ['FAILED'] },
});

let cloud: TestCloud;
let webhook: WebhookServer;
let api: string;
let signingKey = '';
let close: () => Promise<void>;

/** An API with these channels, whose messages are delivered at once, and a webhook as every channel. */
async function start(channels = CHANNELS): Promise<void> {
  cloud = await startTestCloud();
  webhook = await startWebhookServer();
  const stores = await openApiUnderTest();
  const secrets = { read: async (name: string) => (name === 'hook-key' ? signingKey : `${webhook.url}/${name}`) };
  const sender = createNotificationSender({ allowsPrivateAddresses: true });
  const ports = { ...stores.ports, channels, secrets, sender };
  const publish = async (_: string, data: object) => {
    const message = jobUpdatesMessageSchema.parse(data);
    await Promise.all(Object.keys(channels).map((channel) => deliverNotification(ports, { channel, message })));
    return 'id';
  };
  const server = createServer(getRequestListener(createApiApp({ ...ports, bus: { publish } }).fetch));
  api = `http://${HOST}:${await listen(server, 0)}`;
  await writeEndpoints(cloud.dataDir, { ...cloud.endpoints, api });
  close = async () => {
    await closeServer(server);
    await stores.close();
  };
}

beforeEach(async () => {
  signingKey = 'k'.repeat(32);
  await start();
});
afterEach(async () => {
  await close();
  await webhook.close();
  await cloud.close();
});

const cli = (...argv: readonly string[]) => runCli(['notify', ...argv], { dataDir: cloud.dataDir, cwd: cloud.dataDir });

describe('dropforge notify test', () => {
  it('sends one test to every channel, and prints what each answered', async () => {
    const { code, stdout } = await cli('test');
    expect([code, stdout.replaceAll(/\d+ ms/g, 'N ms')]).toEqual([0, 'team  sent in N ms\nhook  sent in N ms\n']);
    expect(webhook.received.map(({ path }) => path).sort()).toEqual(['/hook-url', '/slack-team']);
    expect(webhook.received.every(({ body }) => body.includes('Test of the notification channel'))).toBe(true);
  });

  it('tests only the channel that is named', async () => {
    expect(await cli('test', 'hook', '--format=json')).toMatchObject({ code: 0 });
    expect(webhook.received.map(({ path }) => path)).toEqual(['/hook-url']);
  });

  it('exits with 1 if a channel does not accept it, and says what to do', async () => {
    webhook.answer = ({ path }, response) => void response.writeHead(path === '/hook-url' ? 200 : 404).end('gone');
    const { code, json } = await cli('test', '--format=json');
    expect(code).toBe(1);
    expect(json()).toMatchObject([
      {
        channel: 'team',
        outcome: 'REJECTED',
        problem: expect.stringContaining('new version of the secret slack-team'),
      },
      { channel: 'hook', outcome: 'SENT', problem: null },
    ]);
  });

  it('sends nothing with a signing key that can be guessed', async () => {
    for (const weak of ['', 'whsec_', 'short', 'whsec_c2hvcnQ=', `whsec_${'!'.repeat(40)}`]) {
      signingKey = weak;
      const { code, json } = await cli('test', 'hook', '--format=json');
      expect([code, json()]).toMatchObject([
        1,
        [{ outcome: 'REJECTED', problem: expect.stringContaining('hook-key') }],
      ]);
    }
    expect(webhook.received).toEqual([]);
  });

  it('names the channels that there are instead of an unknown one, and rejects wrong usage', async () => {
    const { code, stderr } = await cli('test', 'teams');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Did you mean "team"? Its channels are team, hook.')]);
    expect((await cli('test', 'team', 'hook')).code).toBe(2);
    expect(webhook.received).toEqual([]);
  });
});

describe('dropforge notify list', () => {
  it('shows channels with their last outcome, and what was not delivered', async () => {
    webhook.answer = ({ path }, response) => void response.writeHead(path === '/hook-url' ? 200 : 403).end('no');
    await cli('test');
    const { code, stdout } = await cli('list');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^team +slack +SUCCEEDED FAILED +team=vision +REJECTED +\S/m);
    expect(stdout).toMatch(/^hook +webhook +FAILED +- +SENT +\S/m);
    expect(stdout).toMatch(
      /NOT DELIVERED\n\S+.* team {2}Test of the notification channel team: The channel answered HTTP 403/,
    );
    expect(stdout).not.toContain(webhook.url);
  });

  it('says how to add a channel if there is none', async () => {
    await close();
    await webhook.close();
    await cloud.close();
    await start({});
    expect((await cli('list')).stdout).toContain('docs/notifications.md');
    expect(await cli('test')).toMatchObject({ code: 1, stderr: expect.stringContaining('no notification channels') });
  });
});

describe('the API of notifications', () => {
  it('knows a test by its id, and no other', async () => {
    const { tests } = await (await fetch(`${api}/v1/notifications:test?channel=hook`, { method: 'POST' })).json();
    expect(await (await fetch(`${api}/v1/notifications/${tests[0].notificationId}`)).json()).toMatchObject({
      outcome: 'SENT',
    });
    for (const id of ['unknown', encodeURIComponent('../jobs'), 'x'.repeat(300)]) {
      expect((await fetch(`${api}/v1/notifications/${id}`)).status).toBe(404);
    }
  });
});
