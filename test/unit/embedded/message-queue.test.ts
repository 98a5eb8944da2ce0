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

  const take = (countMax = 10) => queue.pull({ topic: 'provision', countMax, ackDeadlineAt: now + 100 });
  const takeOne = () => {
    const [delivery] = take(1);
    expect(delivery).toBeDefined();
    return delivery as NonNullable<typeof delivery>;
  };

  it('hands a message out to one taker at a time', async () => {
    const messageId = await queue.publish('provision', { jobId: 'digits' }, { a: 'b' });
    expect(take()).toEqual([
      expect.objectContaining({
        messageId,
        topic: 'provision',
        attributes: { a: 'b' },
        publishedAt: 1_000,
        deliveryAttempt: 1,
      }),
    ]);
    expect(take()).toEqual([]);
  });

  it('hands it out again when the taker has said nothing for its time', async () => {
    await queue.publish('provision', {});
    take();
    now += 99;
    expect(take()).toEqual([]);
    now += 1;
    expect(take()).toMatchObject([{ deliveryAttempt: 2 }]);
  });

  it('hands it out again at once after the death of the taker, without its wait', async () => {
    await queue.publish('provision', {});
    queue.retry(takeOne().deliveryId, now + 30_000);
    queue.releasePulled();
    expect(take()).toMatchObject([{ deliveryAttempt: 2 }]);
  });

  it('says when there is something to hand out, and never again what was acknowledged', async () => {
    expect(queue.nextDeliveryAt('provision')).toBeNull();
    await queue.publish('provision', {});
    const { deliveryId } = takeOne();
    queue.retry(deliveryId, 5_000);
    expect(queue.nextDeliveryAt('provision')).toBe(5_000);
    queue.acknowledge(deliveryId);
    expect(queue.nextDeliveryAt('provision')).toBeNull();
    now = 1_000_000;
    expect(take()).toEqual([]);
  });

  it('hands the oldest out first, up to a count, of the topic that was asked for', async () => {
    await queue.publish('teardown', { order: 0 });
    for (const order of [1, 2, 3]) {
      await queue.publish('provision', { order });
    }
    const orders = take(2).map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString('utf8')));
    expect(orders).toEqual([{ order: 1 }, { order: 2 }]);
  });

  it('keeps what it gives up on record, and publishes it once to the dead letters', async () => {
    await queue.publish('provision', { jobId: 'digits' });
    queue.deadLetter(takeOne(), '500 it threw');
    expect(queue.countMessages()).toEqual([
      { topic: 'dead-letters', waiting: 1, deadLetters: 0 },
      { topic: 'provision', waiting: 0, deadLetters: 1 },
    ]);
  });

  it('does not publish a dead letter that nobody could handle as another one', async () => {
    await queue.publish('dead-letters', { jobId: 'digits' });
    const [letter] = queue.pull({ topic: 'dead-letters', countMax: 1, ackDeadlineAt: 9_999 });
    if (letter !== undefined) {
      queue.deadLetter(letter, '500');
    }
    expect(queue.countMessages()).toEqual([{ topic: 'dead-letters', waiting: 0, deadLetters: 1 }]);
  });

  it('has a message exactly when the change is there with which it was published', () => {
    const change = (error?: Error) => () =>
      database.transaction(() => {
        queue.enqueue('provision', Buffer.from('{}'));
        if (error !== undefined) {
          throw error;
        }
      });
    expect(change(new Error('the change failed'))).toThrow('the change failed');
    expect(take()).toEqual([]);
    change()();
    expect(take()).toHaveLength(1);
  });

  it('refuses a message over its limit with a sentence that names both sizes', async () => {
    const publishing = queue.publish('provision', { note: 'x'.repeat(1_048_576) });
    await expect(publishing).rejects.toThrow(
      /^A message of \d+ bytes for topic provision is over the limit of 1048576\.$/,
    );
    expect(take()).toEqual([]);
  });
});
