import type { Settings } from '#functions/settings.ts';
import { connectState, type StateSettings } from '#infra/google-cloud/compose/connect-state.ts';
import { connectPublisher } from '#infra/google-cloud/compose/publisher-client.ts';
import { createPubsubMessageBus } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';

export type EventSettings = StateSettings & Settings<'PUBSUB_EMULATOR_HOST' | 'PAGE_URL'>;

/** The stores, and the message bus that effects are published to. */
export function connectEvents(settings: EventSettings) {
  const bus = createPubsubMessageBus({ projectId: settings.PROJECT_ID, connect: () => connectPublisher(settings) });
  return { ...connectState(settings), bus, pageUrl: settings.PAGE_URL };
}
