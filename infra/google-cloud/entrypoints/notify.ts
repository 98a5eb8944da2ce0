import { createNotify } from '#functions/notify.ts';
import { authFor } from '#infra/google-cloud/compose/client-options.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';
import {
  createSecretManagerReader,
  SECRET_MANAGER_URL,
} from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import { createNotificationSender } from '#infra/notifications/notification-sender.ts';

startFunction('notify', ({ settings, logger }) => {
  const { PROJECT_ID: projectId, SECRET_MANAGER_ENDPOINT: endpoint, PAGE_URL: pageUrl } = settings;
  const url = (endpoint ?? SECRET_MANAGER_URL).replace(/\/$/, '');
  return createNotify({
    ...connectState(settings),
    channels: settings.NOTIFICATION_CHANNELS,
    secrets: createSecretManagerReader({ projectId, url, auth: authFor(endpoint) }),
    // Secrets of an emulator are those of a test, whose channels are on this machine.
    sender: createNotificationSender({ allowsPrivateAddresses: endpoint !== undefined }),
    pageUrl,
    logger,
  });
});
