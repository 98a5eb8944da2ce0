import type { TimestampMs } from '#shared/domain/job.ts';
import type { Mail, WebhookRequest } from '#shared/ports/notification-sender.ts';
import type { NotificationChannel } from '#shared/protocol/notification-channels.ts';
import { renderDiscord } from '#shared/use-cases/notify/render/discord.ts';
import { renderGoogleChat } from '#shared/use-cases/notify/render/google-chat.ts';
import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { renderPlainText } from '#shared/use-cases/notify/render/plain-text.ts';
import { renderSlack } from '#shared/use-cases/notify/render/slack.ts';
import { renderTeams } from '#shared/use-cases/notify/render/teams.ts';
import { signWebhook } from '#shared/use-cases/notify/sign-webhook.ts';

const RENDERERS = {
  slack: renderSlack,
  teams: renderTeams,
  discord: renderDiscord,
  'google-chat': renderGoogleChat,
} as const;

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'Dropforge' };

/** The values of a channel's secrets. */
export type ChannelSecrets = { readonly address: string; readonly signingKey: string | null };

type Written =
  | { readonly kind: 'POST'; readonly request: WebhookRequest }
  | { readonly kind: 'MAIL'; readonly mail: Mail };

/** The notification as the request of its channel's kind. */
export function writeRequest(
  settings: NotificationChannel,
  { address, signingKey }: ChannelSecrets,
  { notification, now }: { readonly notification: Notification; readonly now: TimestampMs },
): Written {
  const { notificationId: id, title, event } = notification;
  // A value that was created with `echo` ends with a newline.
  const url = address.trim();
  if (settings.kind === 'email') {
    const { from, to } = settings;
    const messageId = `<${id}@dropforge.invalid>`;
    const text = renderPlainText(notification);
    return { kind: 'MAIL', mail: { smtpUrl: url, from, to, subject: `[Dropforge] ${title}`, text, messageId } };
  }
  if (settings.kind === 'webhook') {
    const { type, data } = event;
    const body = JSON.stringify({ type, timestamp: new Date(now).toISOString(), data });
    const signed = signWebhook(signingKey?.trim() ?? '', { id, body, timestampSeconds: Math.floor(now / 1_000) });
    return { kind: 'POST', request: { url, headers: { ...JSON_HEADERS, ...signed }, body } };
  }
  const body = JSON.stringify(RENDERERS[settings.kind](notification));
  return { kind: 'POST', request: { url, headers: JSON_HEADERS, body } };
}
