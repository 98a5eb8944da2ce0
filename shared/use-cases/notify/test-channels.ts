import { randomUUID } from 'node:crypto';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { NotificationTest } from '#shared/protocol/job-update.ts';
import type { NotificationChannels } from '#shared/protocol/notification-channels.ts';

export type TestPorts = { readonly bus: MessageBus; readonly channels: NotificationChannels };

/** A test of one channel: its record in the notification log has this id once it was sent, or was not. */
export type StartedTest = { readonly channel: string; readonly notificationId: string };

/**
 * Sends a test to one channel, or to all, on the path of every notification: topic, subscription, function, secret,
 * channel. The caller needs no permission on any of these; it reads the outcome from the log of notifications.
 */
export async function testChannels(
  { bus, channels }: TestPorts,
  only: string | undefined,
): Promise<readonly StartedTest[]> {
  const names = Object.keys(channels).filter((name) => only === undefined || name === only);
  const started: StartedTest[] = [];
  for (const channel of names) {
    // Random: each test is a notification of its own.
    const testId = randomUUID();
    const message: NotificationTest = { type: 'NOTIFICATION_TEST', testId, channel };
    await bus.publish('job-updates', message, { type: message.type });
    started.push({ channel, notificationId: `test-${testId}-${channel}` });
  }
  return started;
}
