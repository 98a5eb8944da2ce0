import { AsyncResource } from 'node:async_hooks';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Delivery, MessageQueue, QueueName } from '#infra/embedded/pubsub/message-queue.ts';
import { responseTo } from '#infra/network/response-to.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Clock } from '#shared/ports/clock.ts';

/**
 * The push endpoint of a topic, and its retry policy. Pub/Sub dead-letters a message after five attempts by default.
 */
export type Subscription = {
  readonly topic: QueueName;
  readonly url: string;
  /** The project in the name of the subscription. */
  readonly projectId: string;
  readonly deliveriesMax: number;
  readonly concurrencyMax: number;
};

export type PushDispatcher = { start(): void; stop(): Promise<void> };

const ACK_DEADLINE_MS = 120_000;
/** How long in-flight deliveries may continue when the cloud is stopped. */
const STOP_MS_MAX = 3_000;
const BACKOFF_MS_MIN = 200;
const BACKOFF_MS_MAX = 30_000;
const PROBLEM_CHARACTERS_MAX = 500;

/**
 * Pushes every message to its subscription until a 2xx response acknowledges it: at least once, with exponential
 * backoff; after the last attempt it becomes a dead letter.
 */
export function createPushDispatcher(
  queue: MessageQueue,
  subscriptions: readonly Subscription[],
  context: Context,
): PushDispatcher {
  const workers = subscriptions.map((subscription) => createWorker(queue, subscription, context));
  // Outside of the invocation that has published the message: lines about deliveries are not about that one.
  const wakeWorkers = AsyncResource.bind((topic: QueueName) => {
    for (const worker of workers.filter((candidate) => candidate.topic === topic)) {
      worker.wake();
    }
  });
  queue.onPublished((topic) => wakeWorkers(topic));
  return {
    start() {
      queue.releasePulled();
      for (const worker of workers) {
        worker.start();
      }
    },
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  };
}

type Context = { readonly clock: Clock; readonly logger: Logger };

function createWorker(queue: MessageQueue, subscription: Subscription, context: Context) {
  const { topic } = subscription;
  const { clock, logger } = context;
  const deliver = createDelivery(queue, subscription, context);
  const inFlight = new Set<Promise<void>>();
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isWoken = false;

  /** Starts deliveries in the next iteration of the event loop, after the publishing transaction has committed. */
  function wake(): void {
    if (isStarted && !isWoken) {
      isWoken = true;
      setImmediate(dispatchOrRetry);
    }
  }

  /** Retries later if the queue cannot be read now, for example because the disk is full. */
  function dispatchOrRetry(): void {
    try {
      dispatch();
    } catch (error) {
      logger.log('ERROR', 'messages could not be pulled', { topic, problem: String(error) });
      timer = setTimeout(wake, BACKOFF_MS_MAX / 10);
    }
  }

  function dispatch(): void {
    isWoken = false;
    clearTimeout(timer);
    if (!isStarted) {
      return;
    }
    const countMax = subscription.concurrencyMax - inFlight.size;
    const pulled = countMax > 0 ? queue.pull({ topic, countMax, ackDeadlineAt: clock.now() + ACK_DEADLINE_MS }) : [];
    pulled.forEach(startDelivery);
    const nextDeliveryAt = queue.nextDeliveryAt(topic);
    if (nextDeliveryAt !== null && inFlight.size < subscription.concurrencyMax) {
      timer = setTimeout(wake, Math.max(1, nextDeliveryAt - clock.now()));
    }
  }

  function startDelivery(delivery: Delivery): void {
    const work = deliver(delivery, abort.signal).finally(() => {
      inFlight.delete(work);
      wake();
    });
    inFlight.add(work);
  }

  return {
    topic,
    wake,
    start() {
      isStarted = true;
      wake();
    },
    async stop() {
      isStarted = false;
      clearTimeout(timer);
      await finish(inFlight, abort);
    },
  };
}

/** Waits for in-flight deliveries for STOP_MS_MAX, then aborts them: they are redelivered at the next start. */
async function finish(inFlight: ReadonlySet<Promise<void>>, abort: AbortController): Promise<void> {
  const timeout = setTimeout(() => abort.abort(), STOP_MS_MAX);
  await Promise.all(inFlight);
  clearTimeout(timeout);
}

/** Pushes a message once, and acknowledges, retries or dead-letters it by the response. */
function createDelivery(queue: MessageQueue, subscription: Subscription, { clock, logger }: Context) {
  function settle(delivery: Delivery, problem: string | null): void {
    const { topic, messageId, deliveryId, deliveryAttempt } = delivery;
    if (problem === null) {
      queue.acknowledge(deliveryId);
    } else if (deliveryAttempt >= subscription.deliveriesMax) {
      logger.log('ERROR', 'message moved to the dead letters', { topic, messageId, problem });
      queue.deadLetter(delivery, problem);
    } else {
      logger.log('WARNING', 'delivery failed', { topic, messageId, deliveryAttempt, problem });
      queue.retry(deliveryId, clock.now() + backoffMs(deliveryAttempt));
    }
  }

  return async (delivery: Delivery, signal: AbortSignal): Promise<void> => {
    const problem = await push(subscription, delivery, signal);
    if (!signal.aborted) {
      try {
        settle(delivery, problem);
      } catch (error) {
        // The message is redelivered after its ack deadline.
        logger.log('ERROR', 'delivery result could not be stored', { topic: delivery.topic, problem: String(error) });
      }
    }
  };
}

function backoffMs(deliveryAttempt: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (deliveryAttempt - 1));
}

/** Returns null if the message was acknowledged, otherwise the error. */
async function push(subscription: Subscription, delivery: Delivery, signal: AbortSignal): Promise<string | null> {
  try {
    const { status, responseText } = await post(subscription.url, {
      body: JSON.stringify(toPushRequest(subscription, delivery)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(ACK_DEADLINE_MS)]),
    });
    return status >= 200 && status <= 299 ? null : `${status} ${responseText.slice(0, PROBLEM_CHARACTERS_MAX)}`;
  } catch (error) {
    return error instanceof Error ? `${error.message} ${error.cause ?? ''}`.trim() : String(error);
  }
}

/**
 * Follows no redirects: a redirect is not an acknowledgement, and would deliver to another endpoint. `fetch` takes 25 %
 * longer per hop.
 */
async function post(url: string, { body, signal }: { readonly body: string; readonly signal: AbortSignal }) {
  const headers = { 'content-type': 'application/json' };
  const response = await responseTo(request(url, { method: 'POST', headers, signal }).end(body));
  return { status: response.statusCode ?? 0, responseText: await text(response) };
}

/** A Pub/Sub push request (docs, "Push subscriptions"), which functions/pushed-message.ts decodes. */
function toPushRequest({ projectId }: Subscription, delivery: Delivery) {
  const { topic, messageId, data, attributes, publishedAt, deliveryAttempt } = delivery;
  return {
    message: { data, messageId, attributes, publishTime: new Date(publishedAt).toISOString() },
    subscription: `projects/${projectId}/subscriptions/${topic}`,
    deliveryAttempt,
  };
}
