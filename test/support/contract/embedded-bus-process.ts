import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import { createPushDispatcher } from '#infra/embedded/pubsub/push-dispatcher.ts';
import { createLogger } from '#shared/observability/logger.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** The embedded bus in its own process, so that a test can kill it. Publishes the messages sent by its parent. */
export type BusProcessSettings = {
  readonly databasePath: string;
  readonly subscriptions: readonly { readonly topic: Topic; readonly url: string }[];
  readonly deliveriesMax: number;
};

export type PublishRequest = {
  readonly requestId: number;
  readonly topic: Topic;
  readonly data: object;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
};

export type PublishResponse = { readonly requestId: number; readonly messageId: string };

const settings = JSON.parse(process.argv[2] ?? '') as BusProcessSettings;
const queue = openSqliteMessageQueue(openDatabase(settings.databasePath), Date);
const dispatcher = createPushDispatcher(
  queue,
  settings.subscriptions.map((subscription) => ({
    ...subscription,
    projectId: 'contract',
    deliveriesMax: settings.deliveriesMax,
    concurrencyMax: 4,
  })),
  { clock: Date, logger: createLogger(() => {}) },
);

process.on('message', async ({ requestId, topic, data, attributes }: PublishRequest) => {
  const messageId = await queue.publish(topic, data, attributes);
  process.send?.({ requestId, messageId } satisfies PublishResponse);
});
process.on('disconnect', () => process.exit());
dispatcher.start();
