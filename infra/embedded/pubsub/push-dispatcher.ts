import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Delivery, MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** Where a topic's messages are pushed, and how patiently. Pub/Sub's own default is five tries before a message is dead. */
export type Subscription = {
  readonly topic: Topic;
  readonly url: string;
  /** The HTTP request that carries a message: a Pub/Sub push, or a CloudEvent as Eventarc sends it. */
  readonly toRequest: (delivery: Delivery) => {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly deliveriesMax: number;
  readonly concurrencyMax: number;
};

export type PushDispatcher = { start(): void; stop(): Promise<void> };

const ACK_DEADLINE_MS = 120_000;
/** How long functions may go on with what they have when the cloud is stopped. */
const STOP_MS_MAX = 3_000;
const BACKOFF_MS_MIN = 200;
const BACKOFF_MS_MAX = 30_000;
const PROBLEM_CHARACTERS_MAX = 500;

/**
 * Pushes every message to its subscription until it is acknowledged with a 2xx answer: at least once, with a backoff
 * that doubles, and into the dead letters when the tries are used up.
 */
export function createPushDispatcher(
  queue: MessageQueue,
  subscriptions: readonly Subscription[],
  context: Context,
): PushDispatcher {
  const pumps = subscriptions.map((subscription) => createPump(queue, subscription, context));
  queue.onPublished((topic) => {
    for (const pump of pumps.filter((candidate) => candidate.topic === topic)) {
      pump.wake();
    }
  });
  return {
    start() {
      queue.releaseAll();
      for (const pump of pumps) {
        pump.start();
      }
    },
    stop: async () => void (await Promise.all(pumps.map((pump) => pump.stop()))),
  };
}

type Context = { readonly clock: Clock; readonly logger: Logger };

function createPump(queue: MessageQueue, subscription: Subscription, context: Context) {
  const { topic } = subscription;
  const { clock, logger } = context;
  const deliver = createDelivery(queue, subscription, context);
  const inFlight = new Set<Promise<void>>();
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isWoken = false;

  /** Deliveries begin on the next turn of the loop, when the transaction that published them is over. */
  function wake(): void {
    if (isStarted && !isWoken) {
      isWoken = true;
      setImmediate(pumpOrRetry);
    }
  }

  /** What cannot be taken now, on a full disk for instance, is taken later; the cloud lives on. */
  function pumpOrRetry(): void {
    try {
      pump();
    } catch (error) {
      logger.log('ERROR', 'messages could not be taken', { topic, problem: String(error) });
      timer = setTimeout(wake, BACKOFF_MS_MAX / 10);
    }
  }

  function pump(): void {
    isWoken = false;
    clearTimeout(timer);
    if (!isStarted) {
      return;
    }
    const countMax = subscription.concurrencyMax - inFlight.size;
    const taken = countMax > 0 ? queue.take({ topic, countMax, hiddenUntil: clock.now() + ACK_DEADLINE_MS }) : [];
    taken.forEach(begin);
    const nextAt = queue.nextAt(topic);
    if (nextAt !== null && inFlight.size < subscription.concurrencyMax) {
      timer = setTimeout(wake, Math.max(1, nextAt - clock.now()));
    }
  }

  function begin(delivery: Delivery): void {
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

/** What is being handled is nearly done, as a rule; what is not is delivered again at the next start. */
async function finish(inFlight: ReadonlySet<Promise<void>>, abort: AbortController): Promise<void> {
  const patience = setTimeout(() => abort.abort(), STOP_MS_MAX);
  await Promise.all(inFlight);
  clearTimeout(patience);
}

/** One push, and what follows from its answer. */
function createDelivery(queue: MessageQueue, subscription: Subscription, { clock, logger }: Context) {
  function settle(delivery: Delivery, problem: string | null): void {
    const { topic, messageId, deliveryId, deliveryAttempt } = delivery;
    if (problem === null) {
      queue.acknowledge(deliveryId);
    } else if (deliveryAttempt >= subscription.deliveriesMax) {
      logger.log('ERROR', 'message goes to the dead letters', { topic, messageId, problem });
      queue.bury(delivery, problem);
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
        // Its message stays hidden for a while, and is delivered again.
        logger.log('ERROR', 'delivery could not be settled', { topic: delivery.topic, problem: String(error) });
      }
    }
  };
}

function backoffMs(deliveryAttempt: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (deliveryAttempt - 1));
}

/** Null when the message was acknowledged, otherwise what went wrong. */
async function push(subscription: Subscription, delivery: Delivery, signal: AbortSignal): Promise<string | null> {
  try {
    const { headers, body } = subscription.toRequest(delivery);
    const { status, answer } = await post(subscription.url, {
      headers,
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ACK_DEADLINE_MS)]),
    });
    return status >= 200 && status <= 299 ? null : `${status} ${answer.slice(0, PROBLEM_CHARACTERS_MAX)}`;
  } catch (error) {
    return error instanceof Error ? `${error.message} ${error.cause ?? ''}`.trim() : String(error);
  }
}

type Posting = ReturnType<Subscription['toRequest']> & { readonly signal: AbortSignal };

/**
 * Follows no redirect: that is no acknowledgement, and would deliver to somebody else. By `fetch` a hop would take a
 * quarter longer.
 */
async function post(url: string, { headers, body, signal }: Posting) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { method: 'POST', headers, signal }).once('response', resolve).on('error', reject).end(body);
  const response = await promise;
  return { status: response.statusCode ?? 0, answer: await text(response) };
}

/** The body that Pub/Sub pushes (docs "push subscriptions"), which the functions-framework turns into a CloudEvent. */
export function toPubsubPush(projectId: string) {
  return ({ topic, messageId, data, attributes, publishedAt, deliveryAttempt }: Delivery) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      message: { data, messageId, attributes, publishTime: new Date(publishedAt).toISOString() },
      subscription: `projects/${projectId}/subscriptions/${topic}`,
      deliveryAttempt,
    }),
  });
}
