import type { ArchiveContents } from '#shared/package/archive/archive-listing.ts';
import { ancestorsOf } from '#shared/package/archive/entry-path.ts';
import { isArchiveName } from '#shared/package/archive/package-file-names.ts';
import { type Findings, packageProblemOf, showPath } from '#shared/package/archive/package-problem.ts';
import { followLink } from '#shared/package/archive/symbolic-link.ts';

/**
 * The one directory that holds everything, as in a source distribution, or '' for the root of the archive. pip strips
 * such a directory when it unpacks (`has_leading_dir`), so that a link out of it is already a link out of the package.
 */
export function findRoot({ kinds }: Pick<ArchiveContents, 'kinds'>): string {
  let root: string | undefined;
  for (const [path, kind] of kinds) {
    const slash = path.indexOf('/');
    const first = slash < 0 ? path : path.slice(0, slash);
    if ((slash < 0 && kind !== 'directory') || (root !== undefined && root !== first)) {
      return '';
    }
    root = first;
  }
  return root ?? '';
}

/** The rules that hold between entries, checked when all are known, so that their order in the archive does not matter. */
export function checkContents(contents: ArchiveContents, root: string, findings: Findings): void {
  checkParents(contents, findings);
  checkLinks(contents, root, findings);
  checkCase(contents, findings);
  countInnerArchives(contents, findings);
}

function checkParents({ kinds }: ArchiveContents, findings: Findings): void {
  for (const path of kinds.keys()) {
    for (const parent of ancestorsOf(path)) {
      const kind = kinds.get(parent);
      if (kind === 'file' || kind === 'symbolic-link') {
        const message = `"${showPath(path)}" lies below "${showPath(parent)}", which is a ${kind.replace('-', ' ')}.`;
        findings.refuse(packageProblemOf(kind === 'file' ? 'PATH_CONFLICT' : 'LINK_ESCAPES', message, path));
        break;
      }
    }
  }
}

function checkLinks({ links }: ArchiveContents, root: string, findings: Findings): void {
  for (const [path, target] of links) {
    const end = followLink(path, links, root);
    if (end === 'INSIDE') {
      continue;
    }
    const link = `The link "${showPath(path)}" to "${showPath(target)}"`;
    findings.refuse(
      end === 'LOOP'
        ? packageProblemOf('LINK_LOOPS', `${link} runs in a circle.`, path)
        : packageProblemOf('LINK_ESCAPES', `${link} leads out of the package.`, path),
    );
  }
}

/** Distinct files on the Linux VM, one file on macOS (which also folds NFC and NFD) and Windows: worth a warning. */
function checkCase({ kinds }: ArchiveContents, findings: Findings): void {
  const firstByKey = new Map<string, string>();
  for (const path of kinds.keys()) {
    const key = path.normalize('NFC').toLowerCase();
    const first = firstByKey.get(key);
    if (first === undefined) {
      firstByKey.set(key, path);
    } else {
      const message = `"${showPath(path)}" and "${showPath(first)}" differ only in case or in their Unicode form.`;
      findings.warn(packageProblemOf('PATH_CASE_COLLISION', message, path));
    }
  }
}

function countInnerArchives({ kinds }: ArchiveContents, findings: Findings): void {
  const inner = [...kinds].filter(([path, kind]) => kind === 'file' && isArchiveName(path)).map(([path]) => path);
  const [first] = inner;
  if (first !== undefined) {
    const message = `Archives inside the package (${inner.length}, the first "${showPath(first)}") are not opened or installed.`;
    findings.warn(packageProblemOf('INNER_ARCHIVES', message, first));
  }
}
