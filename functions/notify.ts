import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, MalformedMessage, type PushedMessage, RedeliverLater } from '#functions/pushed-message.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { deliverNotification, type NotifyPorts } from '#shared/use-cases/notify/deliver-notification.ts';

/** The name of a channel's subscription: `dropforge-notify-team`. */
const CHANNEL = new RegExp(`^(?:dropforge-)?${SUBSCRIPTION_PREFIX}([a-z0-9-]+)$`);

/**
 * Topic `job-updates`, with a subscription per channel → a message in that channel. What cannot be sent now is
 * redelivered with backoff, for this channel only, and becomes a dead letter of its subscription.
 */
export function createNotify(ports: PortsFor<NotifyPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const message = decodeMessage(pushed, jobUpdatesMessageSchema);
    const [, channel] = CHANNEL.exec(pushed.subscription) ?? [];
    if (channel === undefined) {
      throw new MalformedMessage(`The subscription ${pushed.subscription} is that of no notification channel.`);
    }
    const delivered = await deliverNotification(ports, { channel, message });
    if (delivered.outcome === 'SKIPPED') {
      return;
    }
    const { outcome, notificationId, problem } = delivered;
    // Never an ERROR, which says that a function or a job needs a look: channels have an alert of their own.
    const severity = outcome === 'SENT' ? 'INFO' : 'WARNING';
    const fields = { kind: 'notification', channel, notificationId, outcome, problem };
    ports.logger.log(severity, 'notification handled', fields);
    if (outcome === 'RETRYING') {
      throw new RedeliverLater(`Notification ${notificationId} is delivered again: ${problem}`);
    }
  };
}
