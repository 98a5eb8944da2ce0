import type { FunctionPorts } from '#functions/function-ports.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { ServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { HOST } from '#infra/embedded/http/server.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import type { FurtherQueues } from '#infra/embedded/pubsub/message-queue.ts';
import type { SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import { createNotificationSender } from '#infra/notifications/notification-sender.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';

type NotificationPorts = Pick<FunctionPorts, 'channels' | 'notifications' | 'sender' | 'secrets' | 'pageUrl'>;

type Options = {
  readonly config: Pick<EmbeddedConfig, 'notifications'>;
  readonly serverPorts: Pick<ServerPorts, 'api'>;
};

/** The queues of the channels: each gets a copy of every job update. */
export function channelQueues({ notifications }: Options['config']): FurtherQueues {
  return { 'job-updates': Object.keys(notifications).map((name) => `${SUBSCRIPTION_PREFIX}${name}` as const) };
}

/** The ports of notifications on this machine, which may also send to this machine, and to private networks. */
export function openNotificationPorts(
  database: Database,
  secrets: SecretStore,
  { config, serverPorts }: Options,
): NotificationPorts {
  return {
    channels: config.notifications,
    pageUrl: `http://${HOST}:${serverPorts.api}`,
    notifications: openSqliteNotificationLog(database),
    sender: createNotificationSender({ allowsPrivateAddresses: true }),
    secrets: {
      async read(name) {
        const data = secrets.access(name, 'latest')?.data;
        return data && Buffer.from(data).toString('utf8');
      },
    },
  };
}
