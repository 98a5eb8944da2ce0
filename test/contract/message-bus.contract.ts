import { afterEach, describe, expect, it } from 'vitest';
import type { MessageBus, Topic } from '#shared/ports/message-bus.ts';
import {
  type PushEndpoint,
  type ReceivedPush,
  type Responder,
  startPushEndpoint,
} from '../support/contract/push-endpoint.ts';

/** One topic with a push subscription and a dead-letter topic. */
export type PushSubscription = { readonly topic: Topic; readonly url: string };

export type BusUnderTest = {
  readonly bus: MessageBus;
  /** Delivery attempts before a message goes to the topic `dead-letters`. */
  readonly deliveriesMax: number;
  /** Minimum backoff before the first redelivery, in milliseconds; later ones are at least as long. */
  readonly backoffMsMin: number;
  /** Kills the publishing and delivering processes; others take over their state. */
  killAndRestart(): Promise<void>;
  close(): Promise<void>;
};

/** The contract of every MessageBus. */
export function describeMessageBusContract(
  name: string,
  open: (subscriptions: readonly PushSubscription[]) => Promise<BusUnderTest>,
): void {
  describe(`${name} as a message bus`, () => {
    let endpoint: PushEndpoint | undefined;
    let opened: BusUnderTest | undefined;

    afterEach(async () => {
      await opened?.close();
      await endpoint?.close();
    });

    async function start(answer: Responder) {
      endpoint = await startPushEndpoint(answer);
      const topics: readonly Topic[] = ['provision', 'teardown', 'dead-letters'];
      opened = await open(topics.map((topic) => ({ topic, url: `${endpoint?.url}/${topic}` })));
      return { endpoint, opened, bus: opened.bus };
    }

    it('pushes the data and the attributes of a message to the subscription of its topic', async () => {
      const { bus, endpoint } = await start(() => 204);
      const data = { jobId: 'digits', note: '満員 🚧', nested: [1, null, { a: true }] };
      const messageId = await bus.publish('provision', data, { origin: 'contract', empty: '' });
      const [push] = await endpoint.receive(1, about(messageId));
      expect(push).toMatchObject({ path: '/provision', data, attributes: { origin: 'contract' } });
    });

    it('assigns every message a unique id', async () => {
      const { bus, endpoint } = await start(() => 200);
      const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => bus.publish('teardown', { index })));
      expect(new Set(ids).size).toBe(20);
      const pushes = await endpoint.receive(20, ({ path }) => path === '/teardown');
      expect(new Set(pushes.map(({ messageId }) => messageId))).toEqual(new Set(ids));
    });

    it('redelivers a message until it is acknowledged with a 2xx response', async () => {
      const answers = [500, 302, 204];
      const { bus, endpoint } = await start(
        ({ path }, delivery) => (path === '/provision' ? answers[delivery - 1] : 200) ?? 599,
      );
      const messageId = await bus.publish('provision', { jobId: 'digits' });
      const acknowledgedId = await bus.publish('teardown', { jobId: 'digits' });
      const pushes = await endpoint.receive(answers.length, about(messageId));
      expect(pushes.map(({ data }) => data)).toEqual(answers.map(() => ({ jobId: 'digits' })));
      // While the other message was redelivered, this one would have been too.
      expect(endpoint.pushes.filter(about(acknowledgedId))).toHaveLength(1);
    });

    it('redelivers a message with increasing backoff', async () => {
      const { bus, endpoint, opened } = await start((_, delivery) => (delivery < 3 ? 503 : 200));
      const messageId = await bus.publish('provision', { jobId: 'digits' });
      const [first, second, third] = (await endpoint.receive(3, about(messageId))).map(({ receivedAt }) => receivedAt);
      expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(opened.backoffMsMin - CLOCK_SLACK_MS);
      expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(2 * opened.backoffMsMin - CLOCK_SLACK_MS);
    });

    it('delivers other messages while one has no response', async () => {
      const { bus, endpoint } = await start(({ data }) => (isPoison(data) ? null : 200));
      await endpoint.receive(1, about(await bus.publish('provision', { isPoison: true })));
      const [push] = await endpoint.receive(1, about(await bus.publish('provision', { jobId: 'digits' })));
      expect(push?.data).toEqual({ jobId: 'digits' });
    });

    it('moves a message to the dead letters after the last delivery, with its origin', async () => {
      const { bus, endpoint, opened } = await start(({ path }) => (path === '/dead-letters' ? 200 : 500));
      const messageId = await bus.publish('provision', { jobId: 'digits' }, { origin: 'contract' });
      const [letter] = await endpoint.receive(1, ({ path }) => path === '/dead-letters');
      expect(endpoint.pushes.filter(about(messageId, '/provision'))).toHaveLength(opened.deliveriesMax);
      expect(letter?.data).toEqual({ jobId: 'digits' });
      expect(letter?.attributes).toMatchObject({
        origin: 'contract',
        CloudPubSubDeadLetterSourceDeliveryCount: String(opened.deliveriesMax),
        CloudPubSubDeadLetterSourceSubscription: expect.stringContaining('provision'),
      });
    });

    it('keeps a message once publish has resolved, whatever crashes', async () => {
      let isHealthy = false;
      const { bus, endpoint, opened } = await start(() => (isHealthy ? 200 : 503));
      const messageId = await bus.publish('provision', { jobId: 'digits' }, { origin: 'contract' });
      await opened.killAndRestart();
      isHealthy = true;
      const before = endpoint.pushes.length;
      const pushes = await endpoint.receive(before + 1, about(messageId));
      expect(pushes.at(-1)).toMatchObject({ data: { jobId: 'digits' }, attributes: { origin: 'contract' } });
    });

    it('redelivers a message whose delivery was interrupted by a crash', async () => {
      const { bus, endpoint, opened } = await start((_, delivery) => (delivery === 1 ? null : 200));
      const messageId = await bus.publish('provision', { jobId: 'digits' });
      await endpoint.receive(1, about(messageId));
      await opened.killAndRestart();
      expect(await endpoint.receive(2, about(messageId))).toHaveLength(2);
    });
  });
}

/** Tolerated difference between the clocks of two processes. */
const CLOCK_SLACK_MS = 2;

function about(messageId: string, path?: string) {
  return (push: ReceivedPush) => push.messageId === messageId && (path === undefined || push.path === path);
}

function isPoison(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'isPoison' in data;
}
