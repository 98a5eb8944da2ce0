import type { TimestampMs } from '#shared/domain/job.ts';
import type { NotificationLog } from '#shared/ports/notification-log.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import type { NotificationChannels } from '#shared/protocol/notification-channels.ts';
import { type ChoicePorts, chooseNotification } from '#shared/use-cases/notify/choose-notification.ts';

export type UndeliveredPorts = ChoicePorts & {
  readonly channels: NotificationChannels;
  readonly notifications: NotificationLog;
};

/** A message of a channel's subscription whose deliveries are exhausted. */
export type UndeliveredMessage = { readonly channel: string; readonly body: unknown; readonly tries: string };

/**
 * Records that a channel was not notified, with the last problem that it had, which `dropforge notify list` shows. The
 * job is not affected. Returns the record's problem; null if the channel would not have been notified.
 */
export async function recordUndelivered(
  ports: UndeliveredPorts,
  { channel, body, tries }: UndeliveredMessage,
  now: TimestampMs,
): Promise<string | null> {
  const settings = Object.hasOwn(ports.channels, channel) ? ports.channels[channel] : undefined;
  const message = jobUpdatesMessageSchema.safeParse(body).data;
  const notification = settings && message && (await chooseNotification(ports, { channel, settings, message }, now));
  if (notification == null) {
    return null;
  }
  const { notificationId, title } = notification;
  const earlier = await ports.notifications.find(notificationId);
  if (earlier?.outcome === 'SENT' || earlier?.outcome === 'REJECTED') {
    return null;
  }
  const last = earlier?.problem ?? 'The function notify failed before it reached the channel; its log has the error.';
  const problem = `Not delivered in ${tries} deliveries. ${last}`;
  const { status, latencyMs } = earlier ?? { status: null, latencyMs: null };
  const outcome = 'UNDELIVERED' as const;
  await ports.notifications.record({
    ...{ notificationId, channel, title, outcome, problem, status, latencyMs, notBefore: null, at: now },
  });
  return problem;
}
