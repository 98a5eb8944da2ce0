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

const SLIPS_OF_URIS: readonly RegExp[] = [
  /^gs:\/*([^/].*)$/is,
  /^https?:\/\/storage\.(?:googleapis|cloud\.google)\.com\/(.+)$/s,
  /^https?:\/\/console\.cloud\.google\.com\/storage\/browser\/(?:_details\/)?(.+)$/s,
  /^([a-z0-9][a-z0-9_-]{2,62}(?:\/.*)?)$/s,
];

/** ` Did you mean gs://bucket/name?` for `gs:/bucket/name`, `bucket/name` or an address of a browser; empty for others. */
export function didYouMeanUri(text: string): string {
  const [path] = SLIPS_OF_URIS.flatMap((slip) => slip.exec(text)?.[1] ?? []);
  return path === undefined || text.startsWith('gs://') ? '' : ` Did you mean gs://${path}?`;
}

export function toGsUri({ bucket, name }: ObjectName): string {
  return `gs://${bucket}/${name}`;
}

/** Whether Cloud Storage accepts the name for a bucket. */
export function isBucketName(name: string): boolean {
  const parts = name.split('.');
  return BUCKET_NAME.test(name) && parts.every(({ length }) => length > 0 && length <= BUCKET_PART_CHARACTERS_MAX);
}
