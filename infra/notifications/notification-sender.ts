import { type PostLimits, postWebhook } from '#infra/notifications/post-webhook.ts';
import { sendMail } from '#infra/notifications/send-mail.ts';
import type { NotificationSender } from '#shared/ports/notification-sender.ts';

/** Sends to webhooks and mail servers, in both clouds; only the embedded cloud allows private addresses. */
export function createNotificationSender(limits: PostLimits): NotificationSender {
  return {
    post: (request) => postWebhook(request, limits),
    mail: (mail) => sendMail(mail, limits),
  };
}
