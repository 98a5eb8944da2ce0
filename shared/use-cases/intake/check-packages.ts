import type { PackageRef } from '#shared/domain/job.ts';
import type { PythonProgram } from '#shared/domain/job-spec.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { findPackages, type PackagePorts } from '#shared/use-cases/intake/find-packages.ts';

export type PackageCheck = {
  readonly packages: readonly PackageRef[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What was found in those that are there, in the order of the program. */
  readonly reports: readonly PackageReport[];
  /** Packages that are named and not there, in buckets that we see: they may still be on their way. */
  readonly missingUris: readonly string[];
};

/** A package that was looked into already: it is not streamed twice. */
export type KnownPackage = { readonly uri: string; readonly generation: string; readonly report: PackageReport };

type Inspected = {
  readonly uri: string;
  readonly info: ObjectInfo;
  readonly report: PackageReport;
  readonly ofModule: Pick<PackageReport, 'problems' | 'warnings'>;
};

/**
 * Looks into every package of a job. What is found here is pinned: the VM fetches these generations and no others. The
 * module must be in one of the packages, whichever; a module problem of another one is none.
 */
export async function checkPackages(
  ports: PackagePorts,
  program: PythonProgram,
  known: KnownPackage | null,
): Promise<PackageCheck> {
  const { found, missingUris, problems } = await findPackages(ports, program.packageUris);
  const inspected: Inspected[] = [];
  for (const { uri, info } of found) {
    const isKnown = known?.uri === uri && known.generation === info.generation;
    const report = isKnown ? known.report : await inspectPackage(packageSourceOf(ports.objects, info));
    inspected.push({ uri, info, report, ofModule: report.judgeModule(program.module) });
  }
  const judged = judge(inspected);
  return {
    ...judged,
    problems: [...problems, ...judged.problems],
    reports: inspected.map(({ report }) => report),
    missingUris,
  };
}

function judge(inspected: readonly Inspected[]): Omit<PackageCheck, 'missingUris' | 'reports'> {
  const isModuleFound = inspected.some(
    ({ report, ofModule }) => report.problems.length + ofModule.problems.length === 0,
  );
  const tell = (uri: string, problem: Problem): Problem =>
    inspected.length > 1 ? { ...problem, message: `${uri}: ${problem.message}` } : problem;
  return {
    packages: inspected.map(({ uri, info }) => pin(uri, info)),
    problems: inspected.flatMap(({ uri, report, ofModule }) =>
      [...report.problems, ...(isModuleFound ? [] : ofModule.problems)].map((problem) => tell(uri, problem)),
    ),
    warnings: inspected.flatMap(({ uri, report, ofModule }) =>
      [...report.warnings, ...ofModule.warnings].map((warning) => tell(uri, warning)),
    ),
  };
}

function pin(uri: string, { generation, crc32c, sizeBytes }: ObjectInfo): PackageRef {
  return { uri, generation, crc32c, sizeBytes };
}
