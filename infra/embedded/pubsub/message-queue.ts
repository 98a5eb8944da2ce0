import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { MessageBus, Topic } from '#shared/ports/message-bus.ts';

/** The subscriptions of a topic: one of its name, and further ones, of which each gets a copy of every message. */
export type QueueName = Topic | `notify-${string}`;

export type FurtherQueues = Readonly<Partial<Record<Topic, readonly QueueName[]>>>;

/** A message delivered to a subscription. */
export type Delivery = {
  readonly deliveryId: number;
  readonly messageId: string;
  /** The subscription that it is delivered to: that of its topic, or a further one. */
  readonly topic: QueueName;
  /** Base64, as in Pub/Sub's push requests. */
  readonly data: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly publishedAt: number;
  /** 1 on the first delivery. */
  readonly deliveryAttempt: number;
};

/**
 * The queue of the embedded message bus. Messages are stored until acknowledged, and delivered with an ack deadline.
 */
export type MessageQueue = MessageBus & {
  /** Enqueues within the caller's transaction: the message is committed together with the caller's change. */
  enqueue(topic: Topic, data: Uint8Array, attributes?: Readonly<Record<string, string>>): string;
  /** Returns the oldest messages that are due; each is redelivered after `ackDeadlineAt` unless handled before. */
  pull(query: {
    readonly topic: QueueName;
    readonly countMax: number;
    readonly ackDeadlineAt: number;
  }): readonly Delivery[];
  acknowledge(deliveryId: number): void;
  /** Schedules the redelivery of the message for `retryAt`. */
  retry(deliveryId: number, retryAt: number): void;
  /** Moves the message to the dead letters and publishes it to their topic, with Pub/Sub's attributes. */
  deadLetter(delivery: Delivery, problem: string): void;
  /** When the next message of the topic is due; null if there is none. */
  nextDeliveryAt(topic: QueueName): number | null;
  /** Makes all delivered messages due now: after a crash of the process, no handler is working on them. */
  releasePulled(): void;
  countMessages(): readonly { readonly topic: string; readonly waiting: number; readonly deadLetters: number }[];
  onPublished(listener: (topic: QueueName) => void): void;
};

const SCHEMA = `
  create table if not exists messages (
    delivery_id integer primary key autoincrement, topic text not null, body text not null,
    deliver_at integer not null, attempts integer not null
  ) strict;
  create index if not exists messages_due on messages (topic, deliver_at);
  create table if not exists dead_letters (
    delivery_id integer primary key, topic text not null, body text not null, problem text not null,
    dead_at integer not null
  ) strict;
`;

/** Limit for a message with its attributes; Pub/Sub's is 10 MB. */
const MESSAGE_BYTES_MAX = 1_048_576;

export function openSqliteMessageQueue(
  database: Database,
  clock: Clock,
  furtherQueues: FurtherQueues = {},
): MessageQueue {
  const statements = prepareStatements(database);
  // Copies for a subscription that is not configured any more have no receiver.
  statements.deleteQueues.run(JSON.stringify(Object.values(furtherQueues).flat()));
  const listeners: ((topic: QueueName) => void)[] = [];

  function enqueue(topic: Topic, data: Uint8Array, attributes: Readonly<Record<string, string>> = {}): string {
    const body = JSON.stringify({ data: Buffer.from(data).toString('base64'), attributes, publishedAt: clock.now() });
    // A dead letter is larger than the original message by the attributes added to it.
    if (topic !== 'dead-letters' && Buffer.byteLength(body) > MESSAGE_BYTES_MAX) {
      throw new Error(
        `A message of ${Buffer.byteLength(body)} bytes for topic ${topic} is over the limit of ${MESSAGE_BYTES_MAX}.`,
      );
    }
    const queues = [topic, ...(furtherQueues[topic] ?? [])];
    const [messageId] = database.transaction(() =>
      queues.map((queue) => statements.insert.run(queue, body, clock.now()).lastInsertRowid),
    );
    for (const queue of queues) {
      for (const listener of listeners) {
        listener(queue);
      }
    }
    return String(messageId);
  }

  return {
    enqueue,
    publish: async (topic, data, attributes) => enqueue(topic, Buffer.from(JSON.stringify(data)), attributes),
    pull: ({ topic, countMax, ackDeadlineAt }) =>
      statements.pull
        .all(ackDeadlineAt, topic, clock.now(), countMax)
        .map(toDelivery)
        .sort((a, b) => a.deliveryId - b.deliveryId),
    acknowledge: (deliveryId) => void statements.delete.run(deliveryId),
    retry: (deliveryId, retryAt) => void statements.retry.run(retryAt, deliveryId),
    deadLetter: (delivery, problem) =>
      database.transaction(() => {
        const { data, attributes, publishedAt } = delivery;
        const body = JSON.stringify({ data, attributes, publishedAt });
        statements.insertDeadLetter.run(delivery.deliveryId, delivery.topic, body, problem, clock.now());
        statements.delete.run(delivery.deliveryId);
        if (delivery.topic !== 'dead-letters') {
          enqueue('dead-letters', Buffer.from(data, 'base64'), {
            ...attributes,
            CloudPubSubDeadLetterSourceSubscription: delivery.topic,
            CloudPubSubDeadLetterSourceDeliveryCount: String(delivery.deliveryAttempt),
          });
        }
      }),
    nextDeliveryAt(topic) {
      const nextDeliveryAt = statements.next.get(topic)?.next_at;
      return typeof nextDeliveryAt === 'number' ? nextDeliveryAt : null;
    },
    releasePulled: () => void statements.release.run(clock.now(), clock.now()),
    countMessages: () => countByTopic(statements.waiting.all(), statements.dead.all()),
    onPublished: (listener) => void listeners.push(listener),
  };
}

function toDelivery(row: Record<string, unknown>): Delivery {
  const deliveryId = Number(row.delivery_id);
  const body = JSON.parse(String(row.body)) as Pick<Delivery, 'data' | 'attributes' | 'publishedAt'>;
  return {
    ...body,
    deliveryId,
    messageId: String(deliveryId),
    topic: String(row.topic) as QueueName,
    deliveryAttempt: Number(row.attempts),
  };
}

function countByTopic(waiting: readonly Record<string, unknown>[], dead: readonly Record<string, unknown>[]) {
  const count = (rows: readonly Record<string, unknown>[], topic: string) =>
    Number(rows.find((row) => row.topic === topic)?.number ?? 0);
  const topics = [...new Set([...waiting, ...dead].map((row) => String(row.topic)))].sort();
  return topics.map((topic) => ({ topic, waiting: count(waiting, topic), deadLetters: count(dead, topic) }));
}

function prepareStatements({ sql }: Database) {
  sql.exec(SCHEMA);
  return {
    insert: sql.prepare('insert into messages (topic, body, deliver_at, attempts) values (?, ?, ?, 0)'),
    pull: sql.prepare(`
      update messages set deliver_at = ?, attempts = attempts + 1 where delivery_id in (
        select delivery_id from messages where topic = ? and deliver_at <= ? order by deliver_at, delivery_id limit ?
      ) returning *`),
    deleteQueues: sql.prepare(
      "delete from messages where topic like 'notify-%' and topic not in (select value from json_each(?))",
    ),
    delete: sql.prepare('delete from messages where delivery_id = ?'),
    retry: sql.prepare('update messages set deliver_at = ? where delivery_id = ?'),
    insertDeadLetter: sql.prepare('insert or replace into dead_letters values (?, ?, ?, ?, ?)'),
    next: sql.prepare('select min(deliver_at) as next_at from messages where topic = ?'),
    release: sql.prepare('update messages set deliver_at = ? where deliver_at > ? and attempts > 0'),
    waiting: sql.prepare('select topic, count(*) as number from messages group by topic'),
    dead: sql.prepare('select topic, count(*) as number from dead_letters group by topic'),
  };
}
