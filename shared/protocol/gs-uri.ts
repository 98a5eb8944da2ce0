import type { ObjectName } from '#shared/ports/object-store.ts';

const GS_URI = /^gs:\/\/([^/]*)(?:\/(.*))?$/s;

/** 3 to 63 characters, or up to 222 if dots separate parts of at most 63 (Cloud Storage, "About Cloud Storage buckets"). */
const BUCKET_NAME = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;
const BUCKET_PART_CHARACTERS_MAX = 63;

/** Splits `gs://bucket/name`. The name is empty for a bucket alone; the bucket is empty if the text is not such a URI. */
export function parseGsUri(text: string): ObjectName {
  const [, bucket = '', name = ''] = GS_URI.exec(text) ?? [];
  return { bucket, name };
}

export function toGsUri({ bucket, name }: ObjectName): string {
  return `gs://${bucket}/${name}`;
}

/** Whether Cloud Storage accepts the name for a bucket. */
export function isBucketName(name: string): boolean {
  const parts = name.split('.');
  return BUCKET_NAME.test(name) && parts.every(({ length }) => length > 0 && length <= BUCKET_PART_CHARACTERS_MAX);
}
