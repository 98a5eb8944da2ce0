import type { Settings } from '#functions/settings.ts';
import { authFor } from '#infra/google-cloud/compose/auth-for.ts';
import { connectState, type StateSettings } from '#infra/google-cloud/compose/connect-state.ts';
import { createPubsubMessageBus } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';

export type EventSettings = StateSettings & Settings<'PUBSUB_EMULATOR_HOST'>;

const PUBSUB_URL = 'https://pubsub.googleapis.com';

/** The stores, and the topics on which effects are paid. */
export function connectEvents(settings: EventSettings) {
  const { PUBSUB_EMULATOR_HOST: host } = settings;
  const bus = createPubsubMessageBus({
    projectId: settings.PROJECT_ID,
    url: host === undefined ? PUBSUB_URL : `http://${host.replace(/^https?:\/\//, '').replace(/\/$/, '')}`,
    auth: authFor(host),
  });
  return { ...connectState(settings), bus };
}
