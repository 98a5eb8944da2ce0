import { isBucketName, parseGsUri } from '#shared/protocol/gs-uri.ts';

/**
 * An address in Cloud Storage. `path` has no trailing slash and is empty for the bucket itself. It may start with a
 * slash and contain several in a row: Cloud Storage does not normalize names (docs, "About Cloud Storage objects").
 */
export type StorageUri = { readonly bucket: string; readonly path: string };

/** Object names have at most 1,024 bytes; half of them is left for the names below the job directory. */
const PATH_BYTES_MAX = 512;

/** Splits `gs://bucket/path`; `fault` completes a sentence about an invalid address. */
export function parseStorageUri(text: string): StorageUri | { readonly fault: string } {
  if (!text.startsWith('gs://')) {
    return { fault: 'does not start with gs://' };
  }
  const { bucket, name } = parseGsUri(text);
  const path = withoutTrailingSlashes(name);
  const fault = faultOfBucket(bucket) ?? faultOfPath(path);
  return fault === undefined ? { bucket, path } : { fault };
}

export function printStorageUri({ bucket, path }: StorageUri): string {
  return path === '' ? `gs://${bucket}` : `gs://${bucket}/${path}`;
}

/** Whether there are two slashes in a row, as in `gs://bucket//path`: valid, but rarely intended. */
export function hasEmptyPart({ path }: StorageUri): boolean {
  return path.startsWith('/') || path.includes('//');
}

/** Does not use a pattern, whose matching time is quadratic in the number of slashes. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') {
    end -= 1;
  }
  return path.slice(0, end);
}

function faultOfBucket(bucket: string): string | undefined {
  return isBucketName(bucket)
    ? undefined
    : `does not have a valid bucket name: "${bucket}" (3 to 63 lowercase letters, digits, "-" and "_")`;
}

function faultOfPath(path: string): string | undefined {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    return `is longer than ${PATH_BYTES_MAX} bytes`;
  }
  if (/[\p{Cc}\p{Cs}*?[\]]/u.test(path)) {
    return 'contains a control character or a wildcard';
  }
  return path.split('/').some((part) => part === '.' || part === '..') ? 'contains a "." or ".." segment' : undefined;
}
