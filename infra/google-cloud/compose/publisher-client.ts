import { v1 } from '@google-cloud/pubsub';
import type { Settings } from '#functions/settings.ts';
import { clientOptionsFor } from '#infra/google-cloud/compose/client-options.ts';

/**
 * The generated publisher client over REST (google-gax, `fallback: 'rest'`): one request per message, without the
 * batching of the `PubSub` class, which would hold a message back while its function is being stopped.
 */
export function connectPublisher({ PUBSUB_EMULATOR_HOST: host }: Settings<'PUBSUB_EMULATOR_HOST'>): v1.PublisherClient {
  const endpoint = host === undefined ? undefined : `http://${host.replace(/^https?:\/\//, '').replace(/\/$/, '')}`;
  return new v1.PublisherClient({ ...clientOptionsFor(endpoint), fallback: 'rest' });
}
