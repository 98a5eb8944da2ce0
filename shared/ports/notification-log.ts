import type { TimestampMs } from '#shared/domain/job.ts';

/**
 * SENT: the channel has accepted it. RETRYING: it is delivered again. REJECTED: the channel refuses it, so it is not.
 * UNDELIVERED: the deliveries are exhausted.
 */
export const NOTIFICATION_OUTCOMES = ['SENT', 'RETRYING', 'REJECTED', 'UNDELIVERED'] as const;

/** What came of one notification, under an id that all of its deliveries share. */
export type NotificationRecord = {
  readonly notificationId: string;
  readonly channel: string;
  readonly title: string;
  readonly outcome: (typeof NOTIFICATION_OUTCOMES)[number];
  /** What happened and what to do; null if it was sent. Never contains an address. */
  readonly problem: string | null;
  /** The HTTP status of the answer; null without one. */
  readonly status: number | null;
  readonly latencyMs: number | null;
  /** When the channel may be called again; null if it did not say. */
  readonly notBefore: TimestampMs | null;
  readonly at: TimestampMs;
};

/** Messages are redelivered for 7 days at most (Pub/Sub's retention); records are kept longer, to detect repetitions. */
export const NOTIFICATION_AGE_MS_MAX = 30 * 86_400_000;

/** What was sent, so that a repeated message is not sent again, and so that the operator sees what was not. */
export type NotificationLog = {
  find(notificationId: string): Promise<NotificationRecord | undefined>;
  /** Replaces an earlier record of the notification. */
  record(record: NotificationRecord): Promise<void>;
  /** The newest records, the last one first. */
  listNewest(countMax: number): Promise<readonly NotificationRecord[]>;
};
