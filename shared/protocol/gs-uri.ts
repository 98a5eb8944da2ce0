import type { ObjectName } from '#shared/ports/object-store.ts';

/** `gs://bucket/name` in its two parts; the name is empty for a bucket alone. */
export function parseGsUri(uri: string): ObjectName {
  const [bucket = '', ...rest] = uri.replace(/^gs:\/\//, '').split('/');
  return { bucket, name: rest.join('/') };
}

export function toGsUri({ bucket, name }: ObjectName): string {
  return `gs://${bucket}/${name}`;
}
