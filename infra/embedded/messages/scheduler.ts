import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import type { MessageQueue } from '#infra/embedded/messages/sqlite-message-queue.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** What Cloud Scheduler does: a tick for the watcher, and a sweep, each when its time has come. */
export function startScheduler(queue: MessageQueue, { watchSeconds, sweepSeconds }: EmbeddedConfig): { stop(): void } {
  /** A message that still waits does the work of the next one, too. */
  function publishUnlessWaiting(topic: Topic, data: object): void {
    if (queue.nextAt(topic) === null) {
      queue.enqueue(topic, Buffer.from(JSON.stringify(data)));
    }
  }
  const timers = [
    setInterval(() => publishUnlessWaiting('tick', { type: 'TICK' }), watchSeconds * 1_000),
    setInterval(() => queue.enqueue('teardown', Buffer.from(JSON.stringify({ type: 'SWEEP' }))), sweepSeconds * 1_000),
  ];
  return { stop: () => timers.forEach(clearInterval) };
}
