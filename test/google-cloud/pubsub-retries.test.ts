import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { connectPublisher } from '#infra/google-cloud/compose/publisher-client.ts';
import { createPubsubMessageBus } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';

/** Returns errors, which the emulator cannot be made to do. */
let server: Server;
let host: string;
let statuses: number[];
let requests: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      requests += 1;
      const status = statuses.shift() ?? 200;
      const body = status === 200 ? { messageIds: ['7'] } : { error: { code: status, message: 'Not now.' } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  host = `${HOST}:${await listen(server, 0)}`;
});
afterAll(() => closeServer(server));
beforeEach(() => {
  requests = 0;
});

function publish(): Promise<string> {
  const connect = () => connectPublisher({ PUBSUB_EMULATOR_HOST: host });
  return createPubsubMessageBus({ projectId: 'my-project', connect }).publish('submit', { jobId: 'digits' });
}

describe('publishing to Pub/Sub', () => {
  it('is retried after 429 and every 5xx', async () => {
    statuses = [429, 500, 502, 503, 504];
    expect(await publish()).toBe('7');
    expect(requests).toBe(6);
  });

  it.each([400, 403, 404])('is not retried after %i', async (status) => {
    statuses = [status];
    await expect(publish()).rejects.toThrow('Not now.');
    expect(requests).toBe(1);
  });
});
