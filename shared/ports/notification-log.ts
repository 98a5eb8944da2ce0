import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

/**
 * SENT: the channel has accepted it. RETRYING: it is delivered again. REJECTED: the channel refuses it, so it is not.
 * UNDELIVERED: the deliveries are exhausted.
 */
export const NOTIFICATION_OUTCOMES = ['SENT', 'RETRYING', 'REJECTED', 'UNDELIVERED'] as const;

/**
 * The result of one notification, under an id that all of its deliveries share; as stored, and as the API returns it.
 */
export const notificationRecordSchema = z.object({
  notificationId: z.string(),
  channel: z.string(),
  title: z.string(),
  outcome: z.enum(NOTIFICATION_OUTCOMES),
  /** The problem, and what to do; null if it was sent. Never contains an address. */
  problem: z.string().nullable(),
  /** The HTTP status of the answer; null without one. */
  status: z.int().nullable(),
  latencyMs: z.number().nullable(),
  /** When the channel may be called again; null if it did not say. */
  notBefore: z.number().nullable(),
  at: z.number(),
});
export type NotificationRecord = Stated<typeof notificationRecordSchema>;

/** Messages are redelivered for 7 days at most (Pub/Sub's retention); records are kept longer, to detect repetitions. */
export const NOTIFICATION_AGE_MS_MAX = 30 * 86_400_000;

/** A log of what was sent, so that a repeated message is not sent again, and so that the operator sees what was not. */
export type NotificationLog = {
  find(notificationId: string): Promise<NotificationRecord | undefined>;
  /** Replaces an earlier record of the notification. */
  record(record: NotificationRecord): Promise<void>;
  /** The newest records, the last one first. */
  listNewest(countMax: number): Promise<readonly NotificationRecord[]>;
};
