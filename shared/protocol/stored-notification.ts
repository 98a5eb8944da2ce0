import * as z from 'zod';
import { NOTIFICATION_OUTCOMES, type NotificationRecord } from '#shared/ports/notification-log.ts';
import { parseStored } from '#shared/protocol/stored-record.ts';

/** The record of a notification as both stores keep it, and as the API returns it. */
export const notificationRecordSchema = z.object({
  notificationId: z.string(),
  channel: z.string(),
  title: z.string(),
  outcome: z.enum(NOTIFICATION_OUTCOMES),
  problem: z.string().nullable(),
  status: z.int().nullable(),
  latencyMs: z.number().nullable(),
  notBefore: z.number().nullable(),
  at: z.number(),
}) satisfies z.ZodType<NotificationRecord>;

/** Parses a stored record; throws like `parseStoredJob`. */
export function parseStoredNotification(json: string): NotificationRecord {
  return parseStored(notificationRecordSchema, json, 'notification');
}
