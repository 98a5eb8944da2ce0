import { describePubsubError } from '#cli/client/pubsub-error.ts';
import { Failure } from '#cli/core/failure.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

type JobMessage = {
  readonly topic: string;
  /** Endpoint of the Pub/Sub API; undefined for Google's own. */
  readonly endpoint: string | undefined;
  readonly uploadBucket: string;
  readonly text: string;
};

/**
 * Submits a job by publishing its job file. Returns the name that its report is based on, as for an uploaded job file.
 * A message that is published twice, because the answer to the first was lost, is one job.
 */
export async function publishJobFile({ topic, endpoint, uploadBucket, text }: JobMessage): Promise<ObjectName> {
  const { connectPublisher } = await import('#infra/google-cloud/compose/publisher-client.ts');
  const { PUBLISH_OPTIONS } = await import('#infra/google-cloud/pubsub/pubsub-message-bus.ts');
  const publisher = connectPublisher({ PUBSUB_EMULATOR_HOST: endpoint });
  try {
    const [{ messageIds }] = await publisher.publish(
      { topic, messages: [{ data: Buffer.from(text) }] },
      PUBLISH_OPTIONS,
    );
    return { bucket: uploadBucket, name: `submitted/${messageIds?.[0]}` };
  } catch (error) {
    throw new Failure(describePubsubError(error, topic));
  }
}
