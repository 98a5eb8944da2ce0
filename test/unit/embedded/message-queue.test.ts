import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { type MessageQueue, openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';

describe('the message queue', () => {
  let now: number;
  let database: Database;
  let queue: MessageQueue;

  beforeEach(() => {
    now = 1_000;
    database = openDatabase(':memory:');
    queue = openSqliteMessageQueue(database, { now: () => now });
  });
  afterEach(() => database.close());

  const pull = (countMax = 10) => queue.pull({ topic: 'provision', countMax, ackDeadlineAt: now + 100 });
  const pullOne = () => {
    const [delivery] = pull(1);
    expect(delivery).toBeDefined();
    return delivery as NonNullable<typeof delivery>;
  };

  it('delivers a message to one handler at a time', async () => {
    const messageId = await queue.publish('provision', { jobId: 'digits' }, { a: 'b' });
    expect(pull()).toEqual([
      expect.objectContaining({
        messageId,
        topic: 'provision',
        attributes: { a: 'b' },
        publishedAt: 1_000,
        deliveryAttempt: 1,
      }),
    ]);
    expect(pull()).toEqual([]);
  });

  it('redelivers a message after its ack deadline', async () => {
    await queue.publish('provision', {});
    pull();
    now += 99;
    expect(pull()).toEqual([]);
    now += 1;
    expect(pull()).toMatchObject([{ deliveryAttempt: 2 }]);
  });

  it('redelivers a message immediately after a crash, without its backoff', async () => {
    await queue.publish('provision', {});
    queue.retry(pullOne().deliveryId, now + 30_000);
    queue.releasePulled();
    expect(pull()).toMatchObject([{ deliveryAttempt: 2 }]);
  });

  it('reports when the next message is due, and never redelivers an acknowledged one', async () => {
    expect(queue.nextDeliveryAt('provision')).toBeNull();
    await queue.publish('provision', {});
    const { deliveryId } = pullOne();
    queue.retry(deliveryId, 5_000);
    expect(queue.nextDeliveryAt('provision')).toBe(5_000);
    queue.acknowledge(deliveryId);
    expect(queue.nextDeliveryAt('provision')).toBeNull();
    now = 1_000_000;
    expect(pull()).toEqual([]);
  });

  it('delivers the oldest messages of the requested topic first, up to a count', async () => {
    await queue.publish('teardown', { order: 0 });
    for (const order of [1, 2, 3]) {
      await queue.publish('provision', { order });
    }
    const orders = pull(2).map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString('utf8')));
    expect(orders).toEqual([{ order: 1 }, { order: 2 }]);
  });

  it('stores a dead letter and publishes it once to the topic of dead letters', async () => {
    await queue.publish('provision', { jobId: 'digits' });
    queue.deadLetter(pullOne(), '500 it threw');
    expect(queue.countMessages()).toEqual([
      { topic: 'dead-letters', waiting: 1, deadLetters: 0 },
      { topic: 'provision', waiting: 0, deadLetters: 1 },
    ]);
  });

  it('does not publish a failed dead letter as another dead letter', async () => {
    await queue.publish('dead-letters', { jobId: 'digits' });
    const [letter] = queue.pull({ topic: 'dead-letters', countMax: 1, ackDeadlineAt: 9_999 });
    if (letter !== undefined) {
      queue.deadLetter(letter, '500');
    }
    expect(queue.countMessages()).toEqual([{ topic: 'dead-letters', waiting: 0, deadLetters: 1 }]);
  });

  it('commits a message together with the change that enqueued it', () => {
    const change = (error?: Error) => () =>
      database.transaction(() => {
        queue.enqueue('provision', Buffer.from('{}'));
        if (error !== undefined) {
          throw error;
        }
      });
    expect(change(new Error('the change failed'))).toThrow('the change failed');
    expect(pull()).toEqual([]);
    change()();
    expect(pull()).toHaveLength(1);
  });

  it('rejects a message over the limit with an error that names both sizes', async () => {
    const publishing = queue.publish('provision', { note: 'x'.repeat(1_048_576) });
    await expect(publishing).rejects.toThrow(
      /^A message of \d+ bytes for topic provision is over the limit of 1048576\.$/,
    );
    expect(pull()).toEqual([]);
  });
});
