import type { MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** Publishes what Cloud Scheduler publishes: a tick for the reconciler and a sweep, each at its interval. */
export function startScheduler(
  queue: MessageQueue,
  { watchMs, sweepMs }: { readonly watchMs: number; readonly sweepMs: number },
  logger: Logger,
): { stop(): void } {
  /** Skips the message if an earlier one is still waiting: handling that one is sufficient. */
  function publishUnlessWaiting(topic: Topic, data: object): void {
    if (queue.nextDeliveryAt(topic) === null) {
      queue.enqueue(topic, Buffer.from(JSON.stringify(data)));
    }
  }
  /** An error, for example because the disk is full, is logged; the next interval tries again. */
  function every(ms: number, publish: () => void): NodeJS.Timeout {
    return setInterval(() => {
      try {
        publish();
      } catch (error) {
        logger.log('ERROR', 'the scheduler could not publish', { problem: String(error) });
      }
    }, ms);
  }
  const timers = [
    every(watchMs, () => publishUnlessWaiting('tick', { type: 'TICK' })),
    every(sweepMs, () => void queue.enqueue('teardown', Buffer.from(JSON.stringify({ type: 'SWEEP' })))),
  ];
  return { stop: () => timers.forEach(clearInterval) };
}
