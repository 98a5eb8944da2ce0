import { isBucketName, parseGsUri } from '#shared/protocol/gs-uri.ts';

/**
 * A place in Cloud Storage; `path` has no slash at its end and is empty for the bucket itself. It may begin with one,
 * and have several in a row: Cloud Storage takes names as they are (docs, "About Cloud Storage objects").
 */
export type StorageUri = { readonly bucket: string; readonly path: string };

/** Names of objects have at most 1,024 bytes; what the job writes below its directory needs the other half. */
const PATH_BYTES_MAX = 512;

/** Splits `gs://bucket/path`, or says in a few words what is wrong with it. */
export function parseStorageUri(text: string): StorageUri | { readonly fault: string } {
  if (!text.startsWith('gs://')) {
    return { fault: 'does not begin with gs://' };
  }
  const { bucket, name } = parseGsUri(text);
  const path = withoutSlashesAtEnd(name);
  const fault = faultOfBucket(bucket) ?? faultOfPath(path);
  return fault === undefined ? { bucket, path } : { fault };
}

export function printStorageUri({ bucket, path }: StorageUri): string {
  return path === '' ? `gs://${bucket}` : `gs://${bucket}/${path}`;
}

/** Whether there are two slashes in a row, as in `gs://bucket//path`: legal, and seldom meant. */
export function hasEmptyPart({ path }: StorageUri): boolean {
  return path.startsWith('/') || path.includes('//');
}

/** Not by a pattern: its search would take the square of the slashes' number. */
function withoutSlashesAtEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') {
    end -= 1;
  }
  return path.slice(0, end);
}

function faultOfBucket(bucket: string): string | undefined {
  return isBucketName(bucket)
    ? undefined
    : `names no legal bucket: "${bucket}" (3 to 63 small letters, digits, "-" and "_")`;
}

function faultOfPath(path: string): string | undefined {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    return `is longer than ${PATH_BYTES_MAX} bytes`;
  }
  if (/[\p{Cc}\p{Cs}*?[\]]/u.test(path)) {
    return 'holds a control character or a wildcard';
  }
  return path.split('/').some((part) => part === '.' || part === '..') ? 'holds a "." or ".." part' : undefined;
}
