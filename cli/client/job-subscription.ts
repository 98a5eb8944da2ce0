import { randomBytes } from 'node:crypto';
import { type Message, PubSub, type Subscription } from '@google-cloud/pubsub';
import type { JobUpdates } from '#cli/client/follow-job.ts';
import { describePubsubError } from '#cli/client/pubsub-error.ts';

/** Pub/Sub deletes a subscription that nothing has used for this long; its minimum (docs, "Subscription properties"). */
const EXPIRATION_SECONDS = 86_400;

/** How long undelivered updates are kept; Pub/Sub's minimum. A command that follows the job needs only the newest. */
const RETENTION_SECONDS = 600;

const CALL_TIMEOUT_MS = 10_000;

export type JobSubscription = JobUpdates & {
  /** Deletes the subscription. Never rejects; a subscription that could not be deleted expires. */
  close(): Promise<void>;
};

type SubscribeOptions = {
  readonly projectId: string;
  readonly topic: string;
  readonly endpoint: string | undefined;
  readonly jobId: string;
  /** Called at most once, with a sentence, if updates cannot be received. */
  readonly onProblem: (problem: string) => void;
};

/** Subscribes to the updates of one job until it is closed. Returns immediately; the subscription is created in the background. */
export function subscribeToJob(options: SubscribeOptions): JobSubscription {
  const { projectId, topic, endpoint, jobId } = options;
  const client = new PubSub({
    projectId,
    ...(endpoint !== undefined && { apiEndpoint: new URL(endpoint).host, emulatorMode: true }),
  });
  const notices = createNotices();
  let hasFailed = false;
  const fail = (error: unknown) => {
    if (!hasFailed) {
      hasFailed = true;
      options.onProblem(describePubsubError(error, { topic, verb: 'subscribe to' }));
    }
  };
  const creation = createSubscription(client, options).catch(fail);
  void creation.then((subscription) =>
    subscription
      ?.on('message', (message: Message) => {
        message.ack();
        // The emulator may deliver what the filter excludes.
        if (message.attributes.jobId === jobId) {
          notices.add();
        }
      })
      .on('error', fail),
  );
  return {
    next: notices.next,
    async close() {
      const subscription = await creation;
      await subscription?.close().catch(() => undefined);
      await subscription?.delete({ timeout: CALL_TIMEOUT_MS }).catch(() => undefined);
      await client.close().catch(() => undefined);
    },
  };
}

async function createSubscription(client: PubSub, { topic, jobId }: SubscribeOptions): Promise<Subscription> {
  const name = `${topic.slice(topic.lastIndexOf('/') + 1)}-${jobId.slice(0, 128)}-${randomBytes(6).toString('hex')}`;
  const [subscription] = await client.createSubscription(topic, name, {
    filter: `attributes.jobId = "${jobId}"`,
    expirationPolicy: { ttl: { seconds: EXPIRATION_SECONDS } },
    messageRetentionDuration: { seconds: RETENTION_SECONDS },
    labels: { 'managed-by': 'dropforge' },
    gaxOpts: { timeout: CALL_TIMEOUT_MS },
  });
  return subscription;
}

/** Remembers a notice that nothing waits for. */
function createNotices(): JobUpdates & { add(): void } {
  let isPending = false;
  let wake: (() => void) | undefined;
  return {
    add() {
      isPending = wake === undefined;
      wake?.();
    },
    async next(signal) {
      if (!isPending && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
        await promise;
        wake = undefined;
      }
      isPending = false;
    },
  };
}
