import type { Delivery } from '#infra/embedded/pubsub/message-queue.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';

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

/** The data of Cloud Storage's notification of a finished object (docs "Pub/Sub notifications", `JSON_API_V1`): int64 are texts. */
export function toStorageObjectData(info: ObjectInfo) {
  const updated = new Date(info.updatedAt).toISOString();
  return {
    kind: 'storage#object',
    id: `${info.bucket}/${info.name}/${info.generation}`,
    bucket: info.bucket,
    name: info.name,
    generation: info.generation,
    metageneration: '1',
    contentType: info.contentType,
    size: String(info.sizeBytes),
    crc32c: info.crc32c,
    metadata: info.metadata,
    timeCreated: updated,
    updated,
  };
}
