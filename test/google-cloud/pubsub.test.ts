import { randomUUID } from 'node:crypto';
import { PubSub } from '@google-cloud/pubsub';
import { describe, expect, inject, it } from 'vitest';
import { connectPublisher } from '#infra/google-cloud/compose/publisher-client.ts';
import { createPubsubMessageBus, TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import {
  type BusUnderTest,
  describeMessageBusContract,
  type PushSubscription,
} from '../contract/message-bus.contract.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const hosts = inject('emulatorHosts');

/** Pub/Sub's minimum (docs, "dead letter policy"). */
const DELIVERIES_MAX = 5;
const BACKOFF_SECONDS_MIN = 1;

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'Pub/Sub');
} else {
  describeMessageBusContract('Pub/Sub', (subscriptions) => openOn(hosts.pubsub, subscriptions));
}

async function openOn(host: string, subscriptions: readonly PushSubscription[]): Promise<BusUnderTest> {
  const projectId = `test-${randomUUID()}`;
  const admin = new PubSub({ projectId, apiEndpoint: host, emulatorMode: true });
  const createBus = () =>
    createPubsubMessageBus({ projectId, connect: () => connectPublisher({ PUBSUB_EMULATOR_HOST: host }) });
  for (const { topic } of subscriptions) {
    await admin.createTopic(`${TOPIC_PREFIX}${topic}`);
  }
  for (const { topic, url } of subscriptions) {
    await subscribe(admin, { projectId, topic, url });
  }
  let bus = createBus();

  return {
    bus: { publish: (...message) => bus.publish(...message) },
    deliveriesMax: DELIVERIES_MAX,
    backoffMsMin: BACKOFF_SECONDS_MIN * 1_000,
    // Pub/Sub does not stop with a function; only the publisher is replaced.
    async killAndRestart() {
      bus = createBus();
    },
    async close() {
      // Otherwise the emulator's log fills with deliveries to a closed endpoint.
      for (const { topic } of subscriptions) {
        await admin.subscription(topic).delete();
      }
      await admin.close();
    },
  };
}

async function subscribe(
  admin: PubSub,
  { projectId, topic, url }: PushSubscription & { readonly projectId: string },
): Promise<void> {
  const deadLetterTopic = `projects/${projectId}/topics/${TOPIC_PREFIX}dead-letters`;
  await admin.topic(`${TOPIC_PREFIX}${topic}`).createSubscription(topic, {
    pushConfig: { pushEndpoint: url },
    ackDeadlineSeconds: 10,
    retryPolicy: { minimumBackoff: { seconds: BACKOFF_SECONDS_MIN }, maximumBackoff: { seconds: 60 } },
    ...(topic !== 'dead-letters' && { deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: DELIVERIES_MAX } }),
  });
}
