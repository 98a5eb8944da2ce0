import type { Delivery } from '#infra/embedded/messages/sqlite-message-queue.ts';
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

/** The CloudEvent in binary mode that Eventarc sends for `google.cloud.storage.object.v1.finalized`. */
export function toStorageEvent({ messageId, data, attributes, publishedAt }: Delivery) {
  const { bucket = '', name = '' } = attributes;
  return {
    headers: {
      'content-type': 'application/json',
      'ce-id': messageId,
      'ce-specversion': '1.0',
      'ce-type': 'google.cloud.storage.object.v1.finalized',
      'ce-source': `//storage.googleapis.com/projects/_/buckets/${bucket}`,
      'ce-subject': `objects/${encodeURI(name)}`,
      'ce-time': new Date(publishedAt).toISOString(),
      'ce-bucket': bucket,
    },
    body: Buffer.from(data, 'base64').toString('utf8'),
  };
}

/** The payload of that event: StorageObjectData, with int64 as strings. */
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
