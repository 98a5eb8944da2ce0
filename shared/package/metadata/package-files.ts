import type { ArchiveContents } from '#shared/package/archive/archive-listing.ts';
import { type Findings, packageProblemOf, showPath } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import type { PackageRoot } from '#shared/package/metadata/package-root.ts';
import type { FileSigns } from '#shared/package/scan/file-scan.ts';

/** The files of a package, named from its root: the one directory that holds everything, or the archive's own. */
export type PackageFiles = {
  readonly paths: readonly string[];
  has(path: string): boolean;
  /** The path within the archive, as messages show it. */
  pathOf(path: string): string;
  /** A metadata or job file as text; null where there is none, or where it was noted as unreadable. */
  readText(path: string): string | null;
  readonly signs: FileSigns;
};

/** What a package says, whatever its form. */
export type Project = {
  readonly metadata: ProjectMetadata;
  readonly roots: readonly PackageRoot[];
  /** The packages that setup.py lists as literals: what is not listed is not installed. Null where it computes them. */
  readonly declaredPackages: readonly string[] | null;
  /** Compatibility tags of a wheel, `py3-none-any`. */
  readonly wheelTags: readonly string[];
  /** Checks that the author wants left out, as pyproject.toml names them. */
  readonly ignoredChecks: readonly string[];
  /** Files of requirements in the root that a build file names; the paths are the archive's. */
  readonly requirementFiles: readonly string[];
};

export function openPackageFiles(contents: ArchiveContents, root: string, findings: Findings): PackageFiles {
  const start = root === '' ? 0 : root.length + 1;
  const inArchive = (path: string) => (root === '' ? path : `${root}/${path}`);
  // A symbolic link to a file counts as one, since that is how it will be installed.
  const paths = [...contents.kinds].filter(([, kind]) => kind !== 'directory').map(([path]) => path.slice(start));
  const known = new Set(paths);
  return {
    paths,
    has: (path) => known.has(path),
    pathOf: (path) => showPath(inArchive(path)),
    signs: contents.signs,
    readText(path) {
      const where = inArchive(path);
      if (contents.unreadTexts.has(where)) {
        findings.refuse(packageProblemOf('TEXT_TOO_LARGE', `"${showPath(where)}" is too large to be read.`, where));
      }
      const bytes = contents.texts.get(where);
      return bytes === undefined ? null : decodeText(bytes, where, findings);
    },
  };
}

function decodeText(bytes: Uint8Array, path: string, findings: Findings): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    findings.refuse(packageProblemOf('TEXT_NOT_UTF8', `"${showPath(path)}" is not UTF-8.`, path));
    return null;
  }
}
