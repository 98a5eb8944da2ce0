import type { Clock } from '#shared/ports/clock.ts';
import type { NotificationLog, NotificationRecord } from '#shared/ports/notification-log.ts';
import type { NotificationSender } from '#shared/ports/notification-sender.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';
import type { JobUpdatesMessage } from '#shared/protocol/job-update.ts';
import type { NotificationChannel, NotificationChannels } from '#shared/protocol/notification-channels.ts';
import { type ChoicePorts, chooseNotification } from '#shared/use-cases/notify/choose-notification.ts';
import { type Classified, classifyAnswer } from '#shared/use-cases/notify/classify-answer.ts';
import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { isSigningKey } from '#shared/use-cases/notify/sign-webhook.ts';
import { type ChannelSecrets, writeRequest } from '#shared/use-cases/notify/write-request.ts';

export type NotifyPorts = ChoicePorts & {
  readonly channels: NotificationChannels;
  readonly notifications: NotificationLog;
  readonly sender: NotificationSender;
  readonly secrets: SecretReader;
  readonly clock: Clock;
};

/** SKIPPED: the channel is not notified of this message, or was already. RETRYING: the message must be redelivered. */
export type Delivered =
  | { readonly outcome: 'SKIPPED' }
  | (Pick<NotificationRecord, 'outcome' | 'problem' | 'notificationId'> & { readonly outcome: Classified['outcome'] });

/**
 * Sends one message of the topic `job-updates` to one channel. Each channel has a subscription of its own, so that no
 * channel waits for another, and a message is acknowledged for each by itself. A message that was sent is not sent
 * again. Only if this process dies between the channel's answer and the record of it, or if two deliveries overlap, a
 * channel gets the notification twice, with the same id.
 */
export async function deliverNotification(
  ports: NotifyPorts,
  { channel, message }: { readonly channel: string; readonly message: JobUpdatesMessage },
): Promise<Delivered> {
  const settings = Object.hasOwn(ports.channels, channel) ? ports.channels[channel] : undefined;
  const startedAt = ports.clock.now();
  // A subscription can outlive its channel for a moment.
  const notification = settings && (await chooseNotification(ports, { channel, settings, message }, startedAt));
  if (settings === undefined || notification == null) {
    return { outcome: 'SKIPPED' };
  }
  const { notificationId, title } = notification;
  const earlier = await ports.notifications.find(notificationId);
  if (earlier?.outcome === 'SENT' || earlier?.outcome === 'REJECTED') {
    return { outcome: 'SKIPPED' };
  }
  if (earlier?.notBefore != null && startedAt < earlier.notBefore) {
    return { outcome: 'RETRYING', notificationId, problem: earlier.problem };
  }
  const { retryAfterMs, ...result } = await send(ports, settings, notification);
  const at = ports.clock.now();
  const notBefore = retryAfterMs === null ? null : at + retryAfterMs;
  const latencyMs = at - startedAt;
  await ports.notifications.record({ notificationId, channel, title, ...result, latencyMs, notBefore, at });
  return { outcome: result.outcome, notificationId, problem: result.problem };
}

async function send(
  ports: NotifyPorts,
  settings: NotificationChannel,
  notification: Notification,
): Promise<Classified> {
  const secrets = await readSecrets(ports.secrets, settings);
  if ('missing' in secrets) {
    // Delivered again: the operator may be about to add it.
    const problem = `The secret ${secrets.missing} has no value that this deployment can read. Add a version to it, and list it in the channel's configuration.`;
    return { outcome: 'RETRYING', problem, status: null, retryAfterMs: null };
  }
  if (settings.kind === 'webhook' && !isSigningKey(secrets.signingKey?.trim() ?? '')) {
    const problem = `The secret ${settings.signingSecret} is not a signing key of at least 16 bytes, so nothing was sent. Add a version to it: echo "whsec_$(openssl rand -base64 32)" makes a key.`;
    return { outcome: 'REJECTED', problem, status: null, retryAfterMs: null };
  }
  const written = writeRequest(settings, secrets, { notification, now: ports.clock.now() });
  const answer =
    written.kind === 'MAIL' ? await ports.sender.mail(written.mail) : await ports.sender.post(written.request);
  return classifyAnswer(answer, settings);
}

async function readSecrets(
  secrets: SecretReader,
  settings: NotificationChannel,
): Promise<ChannelSecrets | { readonly missing: string }> {
  const address = await secrets.read(settings.secret);
  if (address === undefined) {
    return { missing: settings.secret };
  }
  if (settings.kind !== 'webhook') {
    return { address, signingKey: null };
  }
  const signingKey = await secrets.read(settings.signingSecret);
  return signingKey === undefined ? { missing: settings.signingSecret } : { address, signingKey };
}
