import type { Settings } from '#functions/settings.ts';
import { connectState, type StateSettings } from '#infra/google-cloud/compose/connect-state.ts';
import { connectPublisher } from '#infra/google-cloud/compose/publisher-client.ts';
import { createPubsubMessageBus } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import type { Logger } from '#shared/observability/logger.ts';
import { createUpdatePublisher } from '#shared/views/job-update.ts';

export type EventSettings = StateSettings & Settings<'PUBSUB_EMULATOR_HOST' | 'PAGE_URL'>;

/** The stores, the message bus that effects are published to, and the log. */
export function connectEvents(settings: EventSettings, logger: Logger) {
  const bus = createPubsubMessageBus({ projectId: settings.PROJECT_ID, connect: () => connectPublisher(settings) });
  const ports = { ...connectState(settings), bus, logger, pageUrl: settings.PAGE_URL };
  return { ...ports, updates: createUpdatePublisher(ports) };
}
