import type { ArchiveContents } from '#shared/package/archive/archive-listing.ts';
import { type Findings, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';
import { NO_METADATA, type ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import type { FileEvidence } from '#shared/package/scan/file-scan.ts';

/** A directory on the import path, or the directory of a package with a different name (`package_dir`). */
export type PackageRoot = {
  /** The dotted name of the package in this directory; '' if the directory contains packages. */
  readonly prefix: string;
  /** Relative to the root of the project, without leading or trailing slashes. */
  readonly directory: string;
};

export function rootOf(directory: string, prefix = ''): PackageRoot {
  const names = directory.split('/').filter((name) => name !== '' && name !== '.');
  return { prefix, directory: names.join('/') };
}

/** The files of a package by path relative to its root: the only top-level directory, or the root of the archive. */
export type PackageFiles = {
  readonly paths: readonly string[];
  has(path: string): boolean;
  /** The printable path relative to the archive, for messages. */
  pathOf(path: string): string;
  /** The text of a metadata or job file; null if it is missing, or unreadable, which is reported. */
  readText(path: string): string | null;
  readonly evidence: FileEvidence;
};

/** A source project or wheel. */
export type Project = {
  readonly metadata: ProjectMetadata;
  readonly roots: readonly PackageRoot[];
  /** Compatibility tags of a wheel, `py3-none-any`. */
  readonly wheelTags: readonly string[];
  /** Codes of lint checks that pyproject.toml disables. */
  readonly ignoredChecks: readonly string[];
  /** Requirements files that are installed or that a build file mentions; paths are relative to the archive. */
  readonly requirementFiles: readonly string[];
  /** Whether requirements are computed by code, or listed where they are not read. */
  readonly hasComputedRequirements: boolean;
  /** The texts of the build files. */
  readonly buildText: string;
};

/** Nothing is known: a package that is not Python code, or a wheel before its metadata is read. */
export const NO_PROJECT: Project = {
  metadata: NO_METADATA,
  roots: [],
  wheelTags: [],
  ignoredChecks: [],
  requirementFiles: [],
  hasComputedRequirements: false,
  buildText: '',
};

export function openPackageFiles(contents: ArchiveContents, root: string, findings: Findings): PackageFiles {
  const start = root === '' ? 0 : root.length + 1;
  const inArchive = (path: string) => (root === '' ? path : `${root}/${path}`);
  // Symbolic links are included, because they are installed as files.
  const paths = [...contents.kinds]
    .filter(([path, kind]) => kind !== 'directory' && (root === '' || path.startsWith(`${root}/`)))
    .map(([path]) => path.slice(start));
  const known = new Set(paths);
  return {
    paths,
    has: (path) => known.has(path),
    pathOf: (path) => printablePath(inArchive(path)),
    evidence: contents.evidence,
    readText(path) {
      const fullPath = inArchive(path);
      if (contents.unreadTexts.has(fullPath)) {
        findings.addProblem(
          packageProblem(
            'TEXT_TOO_LARGE',
            `"${printablePath(fullPath)}" exceeds the size limit of metadata files.`,
            fullPath,
          ),
        );
      }
      const bytes = contents.texts.get(fullPath);
      return bytes === undefined ? null : decodeText(bytes, fullPath, findings);
    },
  };
}

function decodeText(bytes: Uint8Array, path: string, findings: Findings): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    findings.addProblem(packageProblem('TEXT_NOT_UTF8', `"${printablePath(path)}" is not UTF-8.`, path));
    return null;
  }
}
