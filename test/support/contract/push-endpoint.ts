import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

/** The body that Pub/Sub pushes (docs "push subscriptions"). */
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
  /** Milliseconds on a clock that only goes forward. */
  readonly receivedAt: number;
};

/** The HTTP status that answers a push; null leaves it without an answer. */
export type Answer = (push: ReceivedPush, delivery: number) => number | null;

/**
 * A real HTTP server at the other end of a subscription. It notes what it is pushed and answers as it is told, by the
 * push and by how often its message has come, from 1.
 */
export async function startPushEndpoint(answer: Answer) {
  const pushes: ReceivedPush[] = [];
  const unanswered = new Set<ServerResponse>();
  const waiting = new Set<() => void>();

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      // Pub/Sub's emulator follows redirections, which Pub/Sub itself takes for a refusal.
      response.writeHead(405).end();
      return;
    }
    const { message } = pushSchema.parse(await json(request));
    const data: unknown = JSON.parse(Buffer.from(message.data, 'base64').toString('utf8'));
    const push = { ...message, data, path: request.url ?? '', receivedAt: performance.now() };
    pushes.push(push);
    const delivery = pushes.filter(({ messageId }) => messageId === push.messageId).length;
    const status = answer(push, delivery);
    if (status === null) {
      unanswered.add(response);
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

  /** Resolves with the pushes that match, once there are so many. */
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
