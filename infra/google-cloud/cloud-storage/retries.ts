import { setTimeout as sleep } from 'node:timers/promises';
import type { Storage } from '@google-cloud/storage';

/** Delays of at most 0.5, 1, 2, 4 and 8 s, each shortened at random by up to a half. */
const BASE_DELAY_MS = 250;
const DELAY_SECONDS_MAX = 8;
const RETRIES_COUNT_MAX = 5;
/** From the first failure of an operation on. */
const TOTAL_SECONDS_MAX = 60;

/**
 * The library's own retries are off: on Node.js 24 the first one of a read ends the process
 * (googleapis/google-cloud-node#8670).
 */
export const RETRY_OPTIONS = {
  autoRetry: false,
  retryDelayMultiplier: 2,
  maxRetryDelay: DELAY_SECONDS_MAX,
  maxRetries: RETRIES_COUNT_MAX,
  totalTimeout: TOTAL_SECONDS_MAX,
};

/** The answers that Google's client libraries retry (Cloud Storage docs, "Retry strategy"), and broken connections. */
const TRANSIENT: ReadonlySet<unknown> = new Set([
  ...[408, 429, 500, 502, 503, 504],
  ...['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ERR_STREAM_PREMATURE_CLOSE'],
]);

/** The retries of one operation. `restart` after progress: what advances is not abandoned. */
export function startRetries({ retryOptions }: Storage) {
  const { retryDelayMultiplier, maxRetryDelay, maxRetries, totalTimeout } = { ...RETRY_OPTIONS, ...retryOptions };
  let retriesCount = 0;
  let failedAt = 0;
  return {
    /** Waits until the next try is due. Throws the error if there is to be none. */
    async next(error: unknown): Promise<void> {
      failedAt = retriesCount === 0 ? Date.now() : failedAt;
      const ceilingMs = Math.min(BASE_DELAY_MS * retryDelayMultiplier ** (retriesCount + 1), maxRetryDelay * 1_000);
      const delayMs = ceilingMs * (1 - Math.random() / 2);
      const isOver = retriesCount >= maxRetries || Date.now() - failedAt + delayMs > totalTimeout * 1_000;
      if (isOver || !isTransient(error)) {
        throw error;
      }
      retriesCount += 1;
      await sleep(delayMs);
    },
    restart(): void {
      retriesCount = 0;
    },
  };
}

/**
 * Sends an idempotent request until it is answered. An error after a retry goes to `recover`: the answer to an earlier
 * try may be lost.
 */
export async function repeat<T>(
  storage: Storage,
  send: () => Promise<T>,
  recover = (error: unknown): Promise<T> => Promise.reject(error),
): Promise<T> {
  const retries = startRetries(storage);
  for (let hasRetried = false; ; hasRetried = true) {
    try {
      return await send();
    } catch (error) {
      if (hasRetried && !isTransient(error)) {
        return recover(error);
      }
      await retries.next(error);
    }
  }
}

/** Whether a retry may succeed. Resumable uploads, whose own retries are off, throw such errors without their code. */
export function isTransient(error: unknown): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return TRANSIENT.has(statusOf(error) ?? code) || String(message).startsWith('Retry limit exceeded');
}

/**
 * The HTTP status. Requests throw the library's or its HTTP client's error; resumable uploads throw the response body.
 */
export function statusOf(error: unknown): number | undefined {
  const { code, status } = Object(error) as { readonly code?: unknown; readonly status?: unknown };
  return [code, status].map(Number).find((number) => number >= 400 && number < 600);
}
