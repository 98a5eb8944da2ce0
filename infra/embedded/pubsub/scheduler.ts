import type { MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** What Cloud Scheduler does: a tick for the watcher, and a sweep, each when its time has come. */
export function startScheduler(
  queue: MessageQueue,
  { watchSeconds, sweepSeconds }: { readonly watchSeconds: number; readonly sweepSeconds: number },
  logger: Logger,
): { stop(): void } {
  /** A message that still waits does the work of the next one, too. */
  function publishUnlessWaiting(topic: Topic, data: object): void {
    if (queue.nextAt(topic) === null) {
      queue.enqueue(topic, Buffer.from(JSON.stringify(data)));
    }
  }
  /** What cannot be written now, on a full disk for instance, is tried again with the next turn. */
  function every(seconds: number, publish: () => void): NodeJS.Timeout {
    return setInterval(() => {
      try {
        publish();
      } catch (error) {
        logger.log('ERROR', 'the scheduler could not publish', { problem: String(error) });
      }
    }, seconds * 1_000);
  }
  const timers = [
    every(watchSeconds, () => publishUnlessWaiting('tick', { type: 'TICK' })),
    every(sweepSeconds, () => void queue.enqueue('teardown', Buffer.from(JSON.stringify({ type: 'SWEEP' })))),
  ];
  return { stop: () => timers.forEach(clearInterval) };
}
