import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import * as z from 'zod';

/** The body of a Pub/Sub push request (docs, "Push subscriptions"). */
const pushSchema = z.object({
  message: z.object({
    data: z.string(),
    messageId: z.string().min(1),
    attributes: z.record(z.string(), z.string()).default({}),
    publishTime: z.iso.datetime(),
  }),
  subscription: z.string().min(1),
});

export type ReceivedPush = {
  readonly path: string;
  readonly messageId: string;
  readonly data: unknown;
  readonly attributes: Readonly<Record<string, string>>;
  /** Milliseconds on a monotonic clock. */
  readonly receivedAt: number;
};

/** The HTTP status of the response to a push; null sends no response. */
export type Responder = (push: ReceivedPush, delivery: number) => number | null;

/**
 * A real HTTP server as the push endpoint of a subscription. It records the pushes and responds as `respond` decides,
 * by the push and its delivery attempt, from 1.
 */
export async function startPushEndpoint(respond: Responder) {
  const pushes: ReceivedPush[] = [];
  const pending = new Set<ServerResponse>();
  const waiting = new Set<() => void>();

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      // Pub/Sub's emulator follows redirects; Pub/Sub itself treats them as failed deliveries.
      response.writeHead(405).end();
      return;
    }
    const { message } = pushSchema.parse(await json(request));
    const data: unknown = JSON.parse(Buffer.from(message.data, 'base64').toString('utf8'));
    const push = { ...message, data, path: request.url ?? '', receivedAt: performance.now() };
    pushes.push(push);
    const delivery = pushes.filter(({ messageId }) => messageId === push.messageId).length;
    const status = respond(push, delivery);
    if (status === null) {
      pending.add(response);
    } else {
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    }
    for (const check of waiting) {
      check();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  /** Resolves with the matching pushes once there are `count` of them. */
  function receive(count: number, matches: (push: ReceivedPush) => boolean): Promise<readonly ReceivedPush[]> {
    return new Promise((resolve) => {
      const check = () => {
        const found = pushes.filter(matches);
        if (found.length >= count) {
          waiting.delete(check);
          resolve(found);
        }
      };
      waiting.add(check);
      check();
    });
  }

  return {
    url: `http://127.0.0.1:${port}`,
    pushes: pushes as readonly ReceivedPush[],
    receive,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type PushEndpoint = Awaited<ReturnType<typeof startPushEndpoint>>;
