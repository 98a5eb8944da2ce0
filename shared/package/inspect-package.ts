import { checkContents, findRoot } from '#shared/package/archive/archive-checks.ts';
import {
  type ArchiveFormat,
  checkExtension,
  detectFormat,
  FORMAT_HEAD_BYTES,
} from '#shared/package/archive/archive-format.ts';
import { type ArchiveContents, createArchiveListing } from '#shared/package/archive/archive-listing.ts';
import { JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  createFindings,
  type Findings,
  InspectionStopped,
  printablePath,
} from '#shared/package/archive/package-problem.ts';
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

/** The result of inspecting a package. With problems, it must not be installed, and other fields may be incomplete. */
export type PackageReport = ProjectMetadata & {
  readonly format: ArchiveFormat | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly entryCount: number;
  /** The total size of the files. */
  readonly uncompressedBytes: number;
  readonly wheelTags: readonly string[];
  /** Modules that `python -m` can run, sorted, at most MODULE_COUNT_MAX. */
  readonly pythonModules: readonly string[];
  /** Checks whether `python -m` can run a module of the package, such as `trainer.task`. */
  readonly validateModule: (module: string) => Pick<PackageReport, 'problems' | 'warnings'>;
  /** Job files in the root of the package, in order of preference; paths are relative to the archive. */
  readonly jobFiles: readonly { readonly path: string; readonly text: string }[];
  /** Input of the lint checks. */
  readonly evidence: PackageEvidence;
};

const MODULE_COUNT_MAX = 200;

type PackageDetails = Omit<PackageReport, 'format' | 'problems' | 'warnings' | 'entryCount' | 'uncompressedBytes'>;

const NO_DETAILS: PackageDetails = {
  name: null,
  version: null,
  requiresPython: null,
  requirements: [],
  wheelTags: [],
  pythonModules: [],
  validateModule: () => ({ problems: [], warnings: [] }),
  jobFiles: [],
  evidence: NO_EVIDENCE,
};

/**
 * Inspects an untrusted upload without unpacking it to disk or running its code, within PACKAGE_LIMITS. Invalid input
 * is reported in the result; storage errors are thrown, and the inspection can be retried.
 *
 * @param expectation.module the module that `python -m` will run, such as `trainer.task`
 */
export async function inspectPackage(
  source: PackageSource,
  expectation: { readonly module?: string } = {},
): Promise<PackageReport> {
  const findings = createFindings();
  const listing = createArchiveListing(findings);
  const result: { format: ArchiveFormat | null; details: PackageDetails } = { format: null, details: NO_DETAILS };
  const problems: Problem[] = [];
  try {
    result.format = await detectSourceFormat(source, findings);
    const read = result.format === 'tar' || result.format === 'tar.gz' ? readTarArchive : readZipArchive;
    await read({ source, isCompressed: result.format === 'tar.gz', listing, findings });
    result.details = readDetails(listing.contents, { source, format: result.format, findings });
  } catch (error) {
    if (!(error instanceof InspectionStopped)) {
      throw error;
    }
    problems.push(error.problem);
  }
  const { entryCount, uncompressedBytes } = listing.contents;
  const { module } = expectation;
  const moduleCheck = module === undefined ? NO_DETAILS.validateModule('') : result.details.validateModule(module);
  return {
    ...result.details,
    format: result.format,
    problems: [...findings.problems, ...problems, ...moduleCheck.problems],
    warnings: [...findings.warnings, ...moduleCheck.warnings],
    entryCount,
    uncompressedBytes,
  };
}

async function detectSourceFormat(source: PackageSource, findings: Findings): Promise<ArchiveFormat> {
  const { name, sizeBytes } = source;
  if (sizeBytes > PACKAGE_LIMITS.compressedBytesMax) {
    const message = `${printablePath(name)} has ${sizeBytes} bytes; the maximum for a package is ${PACKAGE_LIMITS.compressedBytesMax}.`;
    throw new InspectionStopped('ARCHIVE_TOO_LARGE', message);
  }
  const headBytes = Math.min(FORMAT_HEAD_BYTES, sizeBytes);
  const head = headBytes === 0 ? new Uint8Array() : await source.readRange({ startByte: 0, endByte: headBytes });
  const format = detectFormat(name, head);
  const mismatch = checkExtension(name, format);
  if (mismatch !== null) {
    findings.addProblem(mismatch);
  }
  return format;
}

type Subject = {
  readonly source: PackageSource;
  readonly format: ArchiveFormat;
  readonly findings: Findings;
};

function readDetails(contents: ArchiveContents, { source, format, findings }: Subject): PackageDetails {
  if (contents.entryCount === 0) {
    throw new InspectionStopped('ARCHIVE_EMPTY', `${printablePath(source.name)} has no entries.`);
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
    validateModule(module) {
      const moduleFindings = createFindings();
      checkModule(module, modules, { project, findings: moduleFindings });
      return moduleFindings;
    },
    pythonModules: [...modules.runnable.keys()].sort().slice(0, MODULE_COUNT_MAX),
    jobFiles,
    evidence: gatherEvidence(files, { project, modules }),
  };
}
