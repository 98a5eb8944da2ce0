import type { GoogleAuth } from 'google-auth-library';
import { z } from 'zod';
import type { MessageBus } from '#shared/ports/message-bus.ts';

/** What the topics of a deployment are called: `dropforge-provision`. */
export const TOPIC_PREFIX = 'dropforge-';

export type PubsubMessageBusOptions = {
  readonly projectId: string;
  /** Where Pub/Sub is, without a slash at the end. */
  readonly url: string;
  readonly auth: GoogleAuth;
};

const publishedSchema = z.object({ messageIds: z.tuple([z.string()]) });

/** Faults that pass within seconds (Pub/Sub docs, "Error codes"); twice published is as good as once. */
const RETRY_CONFIG = {
  retry: 4,
  httpMethodsToRetry: ['POST'],
  statusCodesToRetry: [
    [429, 429],
    [500, 599],
  ],
};

const PUBLISH_MS_MAX = 20_000;

/**
 * Publishes by Pub/Sub's REST API (`projects.topics.publish`): all that functions ask of Pub/Sub, for a hundredth of the
 * client library's start. Rejects where Pub/Sub did not take the message.
 */
export function createPubsubMessageBus({ projectId, url, auth }: PubsubMessageBusOptions): MessageBus {
  return {
    async publish(topic, data, attributes = {}) {
      const body = Buffer.from(JSON.stringify(data)).toString('base64');
      const { data: answer } = await auth.request<unknown>({
        url: `${url}/v1/projects/${projectId}/topics/${TOPIC_PREFIX}${topic}:publish`,
        method: 'POST',
        data: { messages: [{ data: body, attributes }] },
        timeout: PUBLISH_MS_MAX,
        retry: true,
        retryConfig: RETRY_CONFIG,
      });
      return publishedSchema.parse(answer).messageIds[0];
    },
  };
}
