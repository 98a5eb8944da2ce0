import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { type PackageProblemCode, packageProblemOf, showPath } from '#shared/package/archive/package-problem.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** A path without `.`, empty names and a slash at the end; '' is the archive's root itself. */
export type PathReading = { readonly path: string; readonly problem?: never } | { readonly problem: Problem };

/**
 * Reads the path of an entry, relative to the place where the archive will be unpacked. What is accepted stays below
 * that place on every system: no absolute path, no drive letter, no `..`, no backslash, no characters that hide how it
 * reads.
 */
export function readEntryPath(raw: string): PathReading {
  const refuse = (code: PackageProblemCode, what: string): PathReading => ({
    problem: packageProblemOf(code, `The path "${showPath(raw)}" ${what}.`, raw),
  });
  if (Buffer.byteLength(raw) > PACKAGE_LIMITS.pathBytesMax) {
    return refuse('PATH_TOO_LONG', `is longer than ${PACKAGE_LIMITS.pathBytesMax} bytes`);
  }
  if (/[\p{Cc}\p{Bidi_Control}\uFFFD]/u.test(raw)) {
    return refuse('PATH_INVALID', 'has control characters or is not valid UTF-8');
  }
  if (raw.includes('\\')) {
    return refuse('PATH_BACKSLASH', 'has a backslash');
  }
  if (raw.startsWith('/') || /^[A-Za-z]:/.test(raw)) {
    return refuse('PATH_ABSOLUTE', 'is absolute');
  }
  const names = raw.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) {
    return refuse('PATH_ESCAPES', 'leads out of the archive');
  }
  if (names.length > PACKAGE_LIMITS.pathDepthMax) {
    return refuse('PATH_TOO_LONG', `is deeper than ${PACKAGE_LIMITS.pathDepthMax} directories`);
  }
  if (names.some((name) => Buffer.byteLength(name) > PACKAGE_LIMITS.nameBytesMax)) {
    return refuse('PATH_TOO_LONG', `has a name of more than ${PACKAGE_LIMITS.nameBytesMax} bytes`);
  }
  return { path: names.join('/') };
}

/** The directories above a path, the nearest first, without the root. */
export function* ancestorsOf(path: string): Generator<string> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    yield path.slice(0, end);
  }
}
