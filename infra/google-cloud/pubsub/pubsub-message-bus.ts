import type { v1 } from '@google-cloud/pubsub';
import * as z from 'zod';
import type { MessageBus } from '#shared/ports/message-bus.ts';

/** Prefix of a deployment's topics: `dropforge-provision`. */
export const TOPIC_PREFIX = 'dropforge-';

export type PubsubMessageBusOptions = {
  readonly projectId: string;
  /** Called before the first message, since most heartbeats, API reads and ticks publish none. */
  readonly connect: () => Pick<v1.PublisherClient, 'publish'>;
};

const publishedSchema = z.object({ messageIds: z.tuple([z.string()]) });

const PUBLISH_MS_MAX = 20_000;

/**
 * Transient errors (Pub/Sub docs, "Error codes", as gRPC codes: 429 and every 5xx, lost connections included), retried
 * for 20 s in total. Consumers tolerate duplicate messages.
 */
export const PUBLISH_OPTIONS = {
  timeout: PUBLISH_MS_MAX,
  retry: {
    // The client's defaults: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE.
    retryCodes: [1, 2, 4, 8, 10, 13, 14],
    backoffSettings: {
      initialRetryDelayMillis: 100,
      retryDelayMultiplier: 2,
      maxRetryDelayMillis: 5_000,
      initialRpcTimeoutMillis: PUBLISH_MS_MAX,
      rpcTimeoutMultiplier: 1,
      maxRpcTimeoutMillis: PUBLISH_MS_MAX,
      totalTimeoutMillis: PUBLISH_MS_MAX,
    },
  },
};

/** Publishes with Pub/Sub's generated client. Rejects if Pub/Sub did not accept the message. */
export function createPubsubMessageBus({ projectId, connect }: PubsubMessageBusOptions): MessageBus {
  let publisher: ReturnType<typeof connect> | undefined;
  return {
    async publish(topic, data, attributes = {}) {
      const request = {
        topic: `projects/${projectId}/topics/${TOPIC_PREFIX}${topic}`,
        messages: [{ data: Buffer.from(JSON.stringify(data)), attributes }],
      };
      publisher ??= connect();
      const [response] = await publisher.publish(request, PUBLISH_OPTIONS);
      return publishedSchema.parse(response).messageIds[0];
    },
  };
}
