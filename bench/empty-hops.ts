import type { Server } from 'node:http';
import { join } from 'node:path';
import { cloudEvent, http } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import { createPushDispatcher, type Subscription } from '#infra/embedded/pubsub/push-dispatcher.ts';
import { createLogger } from '#shared/observability/logger.ts';

/** Latencies of message hops between empty functions, in milliseconds: the lower bound for any pipeline on this bus. */
export type EmptyHops = {
  /** From publishing a message, through a function that publishes another one, until a second function is called. */
  measureTwoHops(): Promise<number>;
  /** From an HTTP call, through a function that publishes, until a second function is called; and the hop's share. */
  measureCallAndHop(): Promise<{ readonly callAndHopMs: number; readonly hopMs: number }>;
  stop(): Promise<void>;
};

const PROJECT_ID = 'empty-hops';

/** Uses the same framework, bus and kind of database file as the embedded cloud, and nothing else. */
export async function startEmptyHops(dataDir: string): Promise<EmptyHops> {
  const clock = { now: Date.now };
  const database = openDatabase(join(dataDir, 'empty-hops.db'));
  const queue = openSqliteMessageQueue(database, clock);
  const servers: Server[] = [];
  let arrived = Promise.withResolvers<number>();
  let calledAt = 0;

  async function serve(name: string): Promise<string> {
    const server = getTestServer(name);
    servers.push(server);
    return `http://${HOST}:${await listen(server, 0)}`;
  }
  async function subscribe(topic: 'uploads' | 'provision' | 'teardown'): Promise<Subscription> {
    return {
      topic,
      url: `${await serve(`empty-${topic}`)}/projects/${PROJECT_ID}/topics/${topic}`,
      projectId: PROJECT_ID,
      deliveriesMax: 1,
      concurrencyMax: 1,
    };
  }

  cloudEvent('empty-uploads', async () => void (await queue.publish('provision', {})));
  cloudEvent('empty-provision', () => arrived.resolve(performance.now()));
  cloudEvent('empty-teardown', () => arrived.resolve(performance.now()));
  http('empty-call', async (_request, response) => {
    calledAt = performance.now();
    await queue.publish('teardown', {});
    response.json({});
  });
  const callUrl = await serve('empty-call');
  const subscriptions = [await subscribe('uploads'), await subscribe('provision'), await subscribe('teardown')];
  const dispatcher = createPushDispatcher(queue, subscriptions, { clock, logger: createLogger(() => undefined) });
  dispatcher.start();

  return {
    async measureTwoHops() {
      arrived = Promise.withResolvers<number>();
      const startedAt = performance.now();
      await queue.publish('uploads', {});
      return (await arrived.promise) - startedAt;
    },
    async measureCallAndHop() {
      arrived = Promise.withResolvers<number>();
      const startedAt = performance.now();
      const answer = fetch(callUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
      const arrivedAt = await arrived.promise;
      await (await answer).arrayBuffer();
      return { callAndHopMs: arrivedAt - startedAt, hopMs: arrivedAt - calledAt };
    },
    async stop() {
      await dispatcher.stop();
      await Promise.all(servers.map(closeServer));
      database.close();
    },
  };
}
