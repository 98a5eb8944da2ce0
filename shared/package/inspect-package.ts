import { checkContents, findRoot } from '#shared/package/archive/archive-checks.ts';
import {
  type ArchiveFormat,
  checkNameEnding,
  FORMAT_HEAD_BYTES,
  recognizeFormat,
} from '#shared/package/archive/archive-format.ts';
import { type ArchiveContents, createArchiveListing } from '#shared/package/archive/archive-listing.ts';
import { JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { createFindings, type Findings, InspectionStopped, showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { readTarArchive } from '#shared/package/archive/tar-archive.ts';
import { readZipArchive } from '#shared/package/archive/zip-archive.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { openPackageFiles } from '#shared/package/metadata/package-files.ts';
import { checkModule, findModules } from '#shared/package/metadata/python-modules.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { readWheel } from '#shared/package/metadata/wheel.ts';
import { gatherEvidence, NO_EVIDENCE, type PackageEvidence } from '#shared/package/package-evidence.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** What an uploaded package is. With a problem it must not be installed, and what else is said may be incomplete. */
export type PackageReport = ProjectMetadata & {
  readonly format: ArchiveFormat | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly entryCount: number;
  /** The sum of the files. */
  readonly uncompressedBytes: number;
  readonly wheelTags: readonly string[];
  /** What `python -m` can run, in order, at most MODULE_COUNT_MAX. */
  readonly pythonModules: readonly string[];
  /** What is wrong with running this module of the package, `trainer.task`, with `python -m`. */
  readonly judgeModule: (module: string) => Pick<PackageReport, 'problems' | 'warnings'>;
  /** Job files in the root of the package, the one to prefer first; paths are the archive's. */
  readonly jobFiles: readonly { readonly path: string; readonly text: string }[];
  /** What advice on the package goes by. */
  readonly evidence: PackageEvidence;
};

export const MODULE_COUNT_MAX = 200;

type Learned = Omit<PackageReport, 'format' | 'problems' | 'warnings' | 'entryCount' | 'uncompressedBytes'>;

const NOTHING_LEARNED: Learned = {
  name: null,
  version: null,
  requiresPython: null,
  requirements: [],
  wheelTags: [],
  pythonModules: [],
  judgeModule: () => ({ problems: [], warnings: [] }),
  jobFiles: [],
  evidence: NO_EVIDENCE,
};

/**
 * Looks into an upload without trusting it, unpacking it or running anything of it, within PACKAGE_LIMITS. Bad input is
 * told in the report; what is thrown is a fault of the storage, and the inspection may be tried again.
 *
 * @param expectation.module the module that `python -m` is to run, `trainer.task`
 */
export async function inspectPackage(
  source: PackageSource,
  expectation: { readonly module?: string } = {},
): Promise<PackageReport> {
  const findings = createFindings();
  const listing = createArchiveListing(findings);
  const seen: { format: ArchiveFormat | null; learned: Learned } = { format: null, learned: NOTHING_LEARNED };
  const problems: Problem[] = [];
  try {
    seen.format = await recognizeSource(source, findings);
    const read = seen.format === 'tar' || seen.format === 'tar.gz' ? readTarArchive : readZipArchive;
    await read({ source, isCompressed: seen.format === 'tar.gz', listing, findings });
    seen.learned = learn(listing.contents, { source, format: seen.format, findings });
  } catch (error) {
    if (!(error instanceof InspectionStopped)) {
      throw error;
    }
    problems.push(error.problem);
  }
  const { entryCount, uncompressedBytes } = listing.contents;
  const { module } = expectation;
  const judged = module === undefined ? NOTHING_LEARNED.judgeModule('') : seen.learned.judgeModule(module);
  return {
    ...seen.learned,
    format: seen.format,
    problems: [...findings.problems, ...problems, ...judged.problems],
    warnings: [...findings.warnings, ...judged.warnings],
    entryCount,
    uncompressedBytes,
  };
}

async function recognizeSource(source: PackageSource, findings: Findings): Promise<ArchiveFormat> {
  const { name, sizeBytes } = source;
  if (sizeBytes > PACKAGE_LIMITS.compressedBytesMax) {
    const message = `${showPath(name)} has ${sizeBytes} bytes; a package may have ${PACKAGE_LIMITS.compressedBytesMax}.`;
    throw new InspectionStopped('ARCHIVE_TOO_LARGE', message);
  }
  const headBytes = Math.min(FORMAT_HEAD_BYTES, sizeBytes);
  const head = headBytes === 0 ? new Uint8Array() : await source.readRange({ startByte: 0, endByte: headBytes });
  const format = recognizeFormat(name, head);
  const mismatch = checkNameEnding(name, format);
  if (mismatch !== null) {
    findings.refuse(mismatch);
  }
  return format;
}

type Subject = {
  readonly source: PackageSource;
  readonly format: ArchiveFormat;
  readonly findings: Findings;
};

function learn(contents: ArchiveContents, { source, format, findings }: Subject): Learned {
  if (contents.entryCount === 0) {
    throw new InspectionStopped('ARCHIVE_EMPTY', `${showPath(source.name)} has no entries.`);
  }
  const root = format === 'whl' ? '' : findRoot(contents);
  checkContents(contents, root, findings);
  const files = openPackageFiles(contents, root, findings);
  const project = format === 'whl' ? readWheel(source.name, files, findings) : readSourceProject(files, findings);
  const modules = findModules(files, project.roots);
  const jobFiles = JOB_FILE_NAMES.flatMap((path) => {
    const text = files.readText(path);
    return text === null ? [] : [{ path: files.pathOf(path), text }];
  });
  return {
    ...project.metadata,
    wheelTags: project.wheelTags,
    judgeModule(module) {
      const own = createFindings();
      checkModule(module, modules, { project, findings: own });
      return own;
    },
    pythonModules: [...modules.runnable.keys()].sort().slice(0, MODULE_COUNT_MAX),
    jobFiles,
    evidence: gatherEvidence(files, { project, modules }),
  };
}
