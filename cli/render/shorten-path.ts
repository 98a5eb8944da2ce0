import { relative } from 'node:path';

/** A path as it is best shown and typed: from the working directory when it lies below, in full otherwise. */
export function shortenPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  return below === '' || below.startsWith('..') ? path : below;
}
