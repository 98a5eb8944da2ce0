import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';

/** Linux gives up with ELOOP after so many links in one lookup: path_resolution(7). */
const HOP_COUNT_MAX = 40;

export type LinkEnd = 'INSIDE' | 'OUTSIDE' | 'LOOP';

/**
 * Where a symbolic link ends when it is followed as Linux does, name by name and through every other link of the
 * archive: `..` after a link means the parent of what the link points to, so that harmless links can be chained into
 * an escape.
 *
 * @param links paths of all symbolic links and their targets
 * @param root the directory that must not be left: '' or the one that holds everything
 */
export function followLink(path: string, links: ReadonlyMap<string, string>, root: string): LinkEnd {
  const rootDepth = root === '' ? 0 : root.split('/').length;
  const place: string[] = [];
  const pending = path.split('/').reverse();
  let hopCount = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '' || name === '.') {
      continue;
    }
    if (name === '..') {
      if (place.length <= rootDepth) {
        return 'OUTSIDE';
      }
      place.pop();
      continue;
    }
    place.push(name);
    const target = place.length > PACKAGE_LIMITS.pathDepthMax ? undefined : links.get(place.join('/'));
    if (target === undefined) {
      continue;
    }
    hopCount += 1;
    if (hopCount > HOP_COUNT_MAX) {
      return 'LOOP';
    }
    if (target.startsWith('/')) {
      return 'OUTSIDE';
    }
    place.pop();
    pending.push(...target.split('/').reverse());
  }
  return 'INSIDE';
}
