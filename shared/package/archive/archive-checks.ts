import type { ArchiveContents } from '#shared/package/archive/archive-listing.ts';
import { ancestorsOf } from '#shared/package/archive/entry-path.ts';
import { isArchiveName } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { type Findings, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';

/** Entries at the root that macOS adds to archives. */
const NOISE = /^(?:__MACOSX|\.DS_Store|\._[^/]*)$/;

/**
 * The top-level directory that contains all files, as in a source distribution; '' if there is none. pip strips such a
 * directory when unpacking (`has_leading_dir`), so a link out of it is a link out of the package.
 */
export function findTop(paths: Iterable<string>): string {
  let top: string | undefined;
  for (const path of paths) {
    const slash = path.indexOf('/');
    const first = slash < 0 ? path : path.slice(0, slash);
    if (NOISE.test(first)) {
      continue;
    }
    if (slash < 0 || (top !== undefined && top !== first)) {
      return '';
    }
    top = first;
  }
  return top ?? '';
}

/** Checks rules between entries. Runs after all entries are listed, so their order in the archive does not matter. */
export function checkContents(contents: ArchiveContents, root: string, findings: Findings): void {
  checkParents(contents, findings);
  checkLinks(contents, root, findings);
  checkCase(contents, findings);
  warnOfInnerArchives(contents, findings);
}

function checkParents({ kinds }: ArchiveContents, findings: Findings): void {
  for (const path of kinds.keys()) {
    for (const parent of ancestorsOf(path)) {
      const kind = kinds.get(parent);
      if (kind === 'file' || kind === 'symbolic-link') {
        const message = `"${printablePath(path)}" is inside "${printablePath(parent)}", which is a ${kind.replace('-', ' ')}.`;
        findings.addProblem(packageProblem(kind === 'file' ? 'PATH_CONFLICT' : 'LINK_ESCAPES', message, path));
        break;
      }
    }
  }
}

function checkLinks({ links }: ArchiveContents, root: string, findings: Findings): void {
  for (const [path, target] of links) {
    const result = followLink(path, links, root);
    if (result === 'INSIDE') {
      continue;
    }
    const link = `The link "${printablePath(path)}" to "${printablePath(target)}"`;
    findings.addProblem(
      result === 'LOOP'
        ? packageProblem('LINK_LOOPS', `${link} is part of a loop.`, path)
        : packageProblem('LINK_ESCAPES', `${link} points outside the package.`, path),
    );
  }
}

/** These are distinct files on the Linux VM, but the same file on macOS (which also normalizes Unicode) and Windows. */
function checkCase({ kinds }: ArchiveContents, findings: Findings): void {
  const firstByKey = new Map<string, string>();
  for (const path of kinds.keys()) {
    const key = path.normalize('NFC').toLowerCase();
    const first = firstByKey.get(key);
    if (first === undefined) {
      firstByKey.set(key, path);
    } else {
      const message = `"${printablePath(path)}" and "${printablePath(first)}" differ only in case or Unicode normalization.`;
      findings.addWarning(packageProblem('PATH_CASE_COLLISION', message, path));
    }
  }
}

function warnOfInnerArchives({ kinds }: ArchiveContents, findings: Findings): void {
  const inner = [...kinds].filter(([path, kind]) => kind === 'file' && isArchiveName(path)).map(([path]) => path);
  const [first] = inner;
  if (first !== undefined) {
    const message = `The package contains ${inner.length} archives (the first is "${printablePath(first)}"), which are not unpacked or installed.`;
    findings.addWarning(packageProblem('INNER_ARCHIVES', message, first));
  }
}

/** Linux returns ELOOP after this number of links in one lookup: path_resolution(7). */
const HOP_COUNT_MAX = 40;

export type LinkResult = 'INSIDE' | 'OUTSIDE' | 'LOOP';

/**
 * Resolves a symbolic link as Linux does, name by name and through all other links of the archive. `..` after a link
 * means the parent of the link's target, so that individually harmless links can be chained into an escape.
 *
 * @param links targets of all symbolic links by path
 * @param root the directory that the link must not leave: '' or the top-level directory that contains all entries
 */
export function followLink(path: string, links: ReadonlyMap<string, string>, root: string): LinkResult {
  const rootDepth = root === '' ? 0 : root.split('/').length;
  const resolved: string[] = [];
  const pending = path.split('/').reverse();
  let hopCount = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '' || name === '.') {
      continue;
    }
    if (name === '..') {
      if (resolved.length <= rootDepth) {
        return 'OUTSIDE';
      }
      resolved.pop();
      continue;
    }
    resolved.push(name);
    const target = resolved.length > PACKAGE_LIMITS.pathDepthMax ? undefined : links.get(resolved.join('/'));
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
    resolved.pop();
    pending.push(...target.split('/').reverse());
  }
  return 'INSIDE';
}
