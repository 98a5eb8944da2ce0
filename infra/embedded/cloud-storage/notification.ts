import { objectResource } from '#infra/embedded/cloud-storage/resource.ts';
import type { StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';

/** The OBJECT_FINALIZE notification of an object (docs, "Pub/Sub notifications", `JSON_API_V1`). */
export function finalizeNotificationOf(object: StoredObject) {
  return {
    data: Buffer.from(JSON.stringify(objectResource(object, 'https://www.googleapis.com'))),
    attributes: {
      eventType: 'OBJECT_FINALIZE',
      payloadFormat: 'JSON_API_V1',
      bucketId: object.bucket,
      objectId: object.name,
      objectGeneration: object.generation,
    },
  };
}
