import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { RedeliverLater } from '#functions/redeliver-later.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { deliverNotification, type NotifyPorts } from '#shared/use-cases/notify/deliver-notification.ts';

/** The last segment of the source, which is the path of the push: `topics/dropforge-notify-team`. */
const CHANNEL = new RegExp(`/topics/(?:dropforge-)?${SUBSCRIPTION_PREFIX}([a-z0-9-]+)$`);

/**
 * Topic `job-updates`, with a subscription per channel → a message in that channel. What cannot be sent now is
 * redelivered with backoff, for this channel only, and becomes a dead letter of its subscription.
 */
export function createNotify(ports: PortsFor<NotifyPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, jobUpdatesMessageSchema, ports.logger);
    const [, channel] = CHANNEL.exec(event.source) ?? [];
    if (message === undefined || channel === undefined) {
      if (message !== undefined) {
        ports.logger.log('ERROR', 'push names no notification channel', { source: event.source });
      }
      return;
    }
    const delivered = await deliverNotification(ports, { channel, message });
    if (delivered.outcome === 'SKIPPED') {
      return;
    }
    const { outcome, notificationId, problem } = delivered;
    const severity = outcome === 'SENT' ? 'INFO' : outcome === 'RETRYING' ? 'WARNING' : 'ERROR';
    ports.logger.log(severity, 'notification handled', { channel, notificationId, outcome, problem });
    if (outcome === 'RETRYING') {
      throw new RedeliverLater(`Notification ${notificationId} is delivered again: ${problem}`);
    }
  };
}
