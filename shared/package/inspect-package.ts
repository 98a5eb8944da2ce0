import { posix } from 'node:path';
import type { PackageLayout } from '#shared/domain/package-layout.ts';
import { checkContents, findTop } from '#shared/package/archive/archive-checks.ts';
import {
  type ArchiveFormat,
  checkExtension,
  detectFormat,
  FORMAT_HEAD_BYTES,
} from '#shared/package/archive/archive-format.ts';
import { type ArchiveContents, createArchiveListing } from '#shared/package/archive/archive-listing.ts';
import { DEPENDENCY_FILES, JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  createFindings,
  type Findings,
  InspectionStopped,
  printablePath,
} from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { readSingleFile } from '#shared/package/archive/single-file.ts';
import { readTarArchive } from '#shared/package/archive/tar-archive.ts';
import { readZipArchive } from '#shared/package/archive/zip-archive.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { notRead } from '#shared/package/metadata/dependencies.ts';
import { isInstalledModule } from '#shared/package/metadata/installed-modules.ts';
import { findMisplacedPath, type MisplacedPath } from '#shared/package/metadata/misplaced-paths.ts';
import {
  NO_PROJECT,
  openPackageFiles,
  type PackageFiles,
  type Project,
} from '#shared/package/metadata/package-files.ts';
import { decideLayout, dependenciesOf, type PackageTree, scriptOf } from '#shared/package/metadata/package-layout.ts';
import { checkModule, findModules, findProgram } from '#shared/package/metadata/python-modules.ts';
import { findOutsideImports, type OutsideImport } from '#shared/package/metadata/reachable-imports.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { readWheel } from '#shared/package/metadata/wheel.ts';
import { gatherEvidence, NO_EVIDENCE, type PackageEvidence } from '#shared/package/package-evidence.ts';
import type { Problem } from '#shared/protocol/problem.ts';

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
  /** The file, printable and relative to the archive, that runs for a module or script; null if there is none. */
  readonly programPathOf: (module: string) => string | null;
  /** The program's inline requirements and Python versions (PEP 723), and what it imports from outside of the package. */
  readonly programOf: (module: string) => ProgramNeeds;
  readonly misplacedPathOf: (module: string) => MisplacedPath | null;
  /** How the package is made runnable for a module or script; null if it was not read. */
  readonly layoutOf: (module: string) => PackageLayout | null;
  /** Checks whether Python can run a module of the package, `trainer.task`, or a script, `examples/train.py`. */
  readonly validateModule: (module: string) => Pick<PackageReport, 'problems' | 'warnings'>;
  /** Job files in the root of the package, in order of preference; paths are relative to the archive. */
  readonly jobFiles: readonly { readonly path: string; readonly text: string }[];
  /** Input of the lint checks. */
  readonly evidence: PackageEvidence;
};

export type ProgramNeeds = Pick<ProjectMetadata, 'requirements' | 'requiresPython'> & {
  /** Requirements files that are installed for the program, in its folder and above; null texts were not read. */
  readonly requirementFiles: readonly { readonly path: string; readonly text: string | null }[];
  readonly findOutsideImports: () => readonly OutsideImport[];
};

const NO_NEEDS: ProgramNeeds = {
  requirements: [],
  requiresPython: null,
  requirementFiles: [],
  findOutsideImports: () => [],
};

const MODULE_COUNT_MAX = 200;

type PackageDetails = Omit<PackageReport, 'format' | 'problems' | 'warnings' | 'entryCount' | 'uncompressedBytes'>;

/** The details of a package that was not read. */
export const NO_DETAILS: PackageDetails = {
  name: null,
  version: null,
  requiresPython: null,
  requirements: [],
  wheelTags: [],
  pythonModules: [],
  programPathOf: () => null,
  programOf: () => NO_NEEDS,
  misplacedPathOf: () => null,
  layoutOf: () => null,
  validateModule: () => ({ problems: [], warnings: [] }),
  jobFiles: [],
  evidence: NO_EVIDENCE,
};

/**
 * Inspects an untrusted upload without unpacking it to disk or running its code, within PACKAGE_LIMITS. Invalid input
 * is reported in the result; storage errors are thrown, and the inspection can be retried. Always settles.
 *
 * @param expectation.module the module that `python -m` will run, such as `trainer.task`
 */
export async function inspectPackage(
  source: PackageSource,
  expectation: { readonly module?: string; readonly msMax?: number } = {},
): Promise<PackageReport> {
  const findings = createFindings();
  const listing = createArchiveListing(findings);
  const result: { format: ArchiveFormat | null; details: PackageDetails } = { format: null, details: NO_DETAILS };
  const problems: Problem[] = [];
  try {
    result.format = await detectSourceFormat(source, findings);
    const reading = READERS[result.format]({ source, isCompressed: result.format === 'tar.gz', listing, findings });
    await endAfter(expectation.msMax ?? PACKAGE_LIMITS.inspectionMsMax, reading, source);
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

/** A defect of a reader, or a store that stops sending, must not keep other uploads waiting. */
async function endAfter(msMax: number, reading: Promise<void>, { name }: PackageSource): Promise<void> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const message = `${printablePath(name)} could not be read within ${msMax / 1_000} s.`;
  const timer = setTimeout(() => reject(new InspectionStopped('INSPECTION_TIMED_OUT', message)), msMax);
  try {
    await Promise.race([reading, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

const READERS = {
  'tar.gz': readTarArchive,
  tar: readTarArchive,
  zip: readZipArchive,
  whl: readZipArchive,
  py: readSingleFile,
  txt: readSingleFile,
} as const satisfies Record<ArchiveFormat, unknown>;

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
  const paths = new Set([...contents.kinds].filter(([, kind]) => kind !== 'directory').map(([path]) => path));
  const root = format === 'whl' ? '' : findTop(paths);
  checkContents(contents, root, findings);
  const files = openPackageFiles(contents, root, findings);
  const own = readProject({ source, format, findings }, files);
  const tree = openTree(contents, { name: source.name, paths });
  const layout = decideLayout(tree, '');
  const installed = layout.requirementFiles.map(printablePath);
  const listed = format === 'whl' ? null : dependenciesOf(tree, layout);
  const unread = [...contents.unreadTexts].filter((path) => DEPENDENCY_FILES.includes(posix.basename(path)));
  for (const warning of [...(listed?.warnings ?? []), ...unread.map(notRead)]) {
    findings.addWarning(warning);
  }
  const project = { ...own, requirementFiles: [...new Set([...own.requirementFiles, ...installed])] };
  const modules = findModules(files, project.roots);
  const jobFiles = JOB_FILE_NAMES.flatMap((path) => {
    const text = files.readText(path);
    return text === null ? [] : [{ path: files.pathOf(path), text }];
  });
  const evidence = { ...gatherEvidence(files, project), pythonLimit: listed?.pythonLimit ?? null };
  const lines = evidence.requirementFiles.flatMap(({ text }) => text.split('\n'));
  const requirements = [...project.metadata.requirements, ...lines];
  const ownModules = [...modules.runnable.keys(), ...modules.packages];
  return {
    ...project.metadata,
    wheelTags: project.wheelTags,
    programPathOf(module) {
      const path = findProgram(module, { tree, modules });
      return path === null ? null : printablePath(path);
    },
    programOf(module) {
      const { program, style, requirements: needed, requirementFiles } = decideLayout(tree, module);
      const texts = contents.evidence.requirementFiles;
      const sources = { tree, roots: project.roots, imports: contents.evidence.moduleImports };
      return {
        requirements: needed,
        requiresPython: style === 'WHEEL' ? null : scriptOf(tree, program).requiresPython,
        requirementFiles: requirementFiles.map((path) => ({
          path: printablePath(path),
          text: texts.get(path) ?? null,
        })),
        findOutsideImports: () => findOutsideImports(module, sources),
      };
    },
    layoutOf: (module) => decideLayout(tree, module),
    misplacedPathOf: (module) => findMisplacedPath(tree, module, contents.evidence.relativePaths),
    validateModule(module) {
      const moduleFindings = createFindings();
      if (!isInstalledModule(module, { requirements, imports: evidence.imports, own: ownModules })) {
        checkModule(module, { tree, project, modules }, moduleFindings);
      }
      return moduleFindings;
    },
    pythonModules: [...modules.runnable.keys()].sort().slice(0, MODULE_COUNT_MAX),
    jobFiles,
    evidence,
  };
}

function readProject({ source, format, findings }: Subject, files: PackageFiles): Project {
  if (format === 'whl') {
    return readWheel(source.name, files, findings);
  }
  return format === 'txt' ? NO_PROJECT : readSourceProject(files, findings);
}

function openTree(
  { texts, evidence }: ArchiveContents,
  { name, paths }: Pick<PackageTree, 'name' | 'paths'>,
): PackageTree {
  return {
    name,
    paths,
    readText(path) {
      const bytes = texts.get(path);
      return bytes === undefined ? (evidence.scriptBlocks.get(path) ?? null) : Buffer.from(bytes).toString('utf8');
    },
  };
}
