import type { Context } from 'hono';
import { NONCURRENT_AGE_MS_MAX, NONCURRENT_GENERATIONS_MAX } from '#infra/embedded/cloud-storage/store/object-index.ts';
import type { StoredBucket, StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';

const DAY_MS = 86_400_000;

/** The ETag changes with the bytes and with the attributes. */
export function etagOf({ generation, metageneration }: StoredObject): string {
  return Buffer.from(`${generation}/${metageneration}`).toString('base64');
}

/** Source: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export function objectResource(object: StoredObject, origin: string): object {
  const { bucket, name, generation, contentEncoding, contentDisposition, contentLanguage, cacheControl } = object;
  const { customTime } = object;
  const path = `b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(name)}`;
  const createdTime = timestamp(object.createdAt);
  return {
    kind: 'storage#object',
    id: `${bucket}/${name}/${generation}`,
    selfLink: `${origin}/storage/v1/${path}`,
    mediaLink: `${origin}/download/storage/v1/${path}?generation=${generation}&alt=media`,
    name,
    bucket,
    generation,
    metageneration: String(object.metageneration),
    contentType: object.contentType,
    storageClass: object.storageClass,
    size: String(object.sizeBytes),
    crc32c: object.crc32c,
    etag: etagOf(object),
    timeCreated: createdTime,
    timeFinalized: createdTime,
    timeStorageClassUpdated: createdTime,
    updated: timestamp(object.updatedAt),
    ...(object.md5 !== null && { md5Hash: object.md5 }),
    ...(object.componentCount !== null && { componentCount: object.componentCount }),
    ...(object.noncurrentAt !== null && { timeDeleted: timestamp(object.noncurrentAt) }),
    ...(contentEncoding !== null && { contentEncoding }),
    ...(contentDisposition !== null && { contentDisposition }),
    ...(contentLanguage !== null && { contentLanguage }),
    ...(cacheControl !== null && { cacheControl }),
    ...(customTime !== null && { customTime }),
    ...(Object.keys(object.metadata).length > 0 && { metadata: object.metadata }),
  };
}

/**
 * The lifecycle rules describe how the store deletes noncurrent generations.
 * Source: https://cloud.google.com/storage/docs/json_api/v1/buckets#resource
 */
export function bucketResource({ name, createdAt }: StoredBucket, origin: string): object {
  return {
    kind: 'storage#bucket',
    id: name,
    selfLink: `${origin}/storage/v1/b/${name}`,
    name,
    projectNumber: '0',
    generation: '1',
    metageneration: '1',
    location: 'US',
    locationType: 'multi-region',
    storageClass: 'STANDARD',
    etag: 'CAE=',
    timeCreated: timestamp(createdAt),
    updated: timestamp(createdAt),
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: 'enforced' },
    versioning: { enabled: true },
    lifecycle: {
      rule: [
        { action: { type: 'Delete' }, condition: { numNewerVersions: NONCURRENT_GENERATIONS_MAX + 1 } },
        { action: { type: 'Delete' }, condition: { daysSinceNoncurrentTime: NONCURRENT_AGE_MS_MAX / DAY_MS } },
      ],
    },
  };
}

const timestamp = (atMs: number): string => new Date(atMs).toISOString();

/** The origin that the client used for this request; links in responses use it too. */
export const originOf = (context: Context): string => new URL(context.req.url).origin;
