import type { ObjectInfo } from '#shared/ports/object-store.ts';

/** The payload of an OBJECT_FINALIZE notification (docs, "Pub/Sub notifications", `JSON_API_V1`): int64 are strings. */
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
