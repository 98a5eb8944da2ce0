import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { type PackageProblemCode, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** A path without `.`, empty names or a trailing slash; '' is the root of the archive. */
export type PathReading = { readonly path: string; readonly problem?: never } | { readonly problem: Problem };

/**
 * Normalizes the path of an entry. An accepted path stays inside the directory where the archive is unpacked, on every
 * operating system: it is not absolute and has no drive letter, no `..`, no backslash, and no control or bidirectional
 * characters.
 */
export function readEntryPath(raw: string): PathReading {
  const reject = (code: PackageProblemCode, what: string): PathReading => ({
    problem: packageProblem(code, `The path "${printablePath(raw)}" ${what}.`, raw),
  });
  if (Buffer.byteLength(raw) > PACKAGE_LIMITS.pathBytesMax) {
    return reject('PATH_TOO_LONG', `is longer than ${PACKAGE_LIMITS.pathBytesMax} bytes`);
  }
  if (/[\p{Cc}\p{Bidi_Control}\uFFFD]/u.test(raw)) {
    return reject('PATH_INVALID', 'contains control characters or is not valid UTF-8');
  }
  if (raw.includes('\\')) {
    return reject('PATH_BACKSLASH', 'contains a backslash');
  }
  if (raw.startsWith('/') || /^[A-Za-z]:/.test(raw)) {
    return reject('PATH_ABSOLUTE', 'is absolute');
  }
  const names = raw.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) {
    return reject('PATH_ESCAPES', 'points outside the archive');
  }
  if (names.length > PACKAGE_LIMITS.pathDepthMax) {
    return reject('PATH_TOO_LONG', `has more than ${PACKAGE_LIMITS.pathDepthMax} levels`);
  }
  if (names.some((name) => Buffer.byteLength(name) > PACKAGE_LIMITS.nameBytesMax)) {
    return reject('PATH_TOO_LONG', `contains a name longer than ${PACKAGE_LIMITS.nameBytesMax} bytes`);
  }
  return { path: names.join('/') };
}

/** The parent directories of a path, the nearest first, without the root. */
export function* ancestorsOf(path: string): Generator<string> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    yield path.slice(0, end);
  }
}
