import type { ObjectInfo } from '#shared/ports/object-store.ts';

/** The OBJECT_FINALIZE notification of an object (docs, "Pub/Sub notifications", `JSON_API_V1`): int64 are strings. */
export function finalizeNotificationOf(info: ObjectInfo) {
  const { bucket, name, generation, contentType, crc32c, metadata } = info;
  const updated = new Date(info.updatedAt).toISOString();
  const resource = {
    kind: 'storage#object',
    id: `${bucket}/${name}/${generation}`,
    bucket,
    name,
    generation,
    metageneration: '1',
    contentType,
    size: String(info.sizeBytes),
    crc32c,
    metadata,
    timeCreated: updated,
    updated,
  };
  return {
    data: Buffer.from(JSON.stringify(resource)),
    attributes: {
      eventType: 'OBJECT_FINALIZE',
      payloadFormat: 'JSON_API_V1',
      bucketId: bucket,
      objectId: name,
      objectGeneration: generation,
    },
  };
}
