import { countGpus } from '#shared/catalog/catalog.ts';
import type { PackageRef } from '#shared/domain/job.ts';
import type { JobSpec, PythonProgram } from '#shared/domain/job-spec.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import { lintPackages } from '#shared/package/lint/lint-packages.ts';
import { AccessDeniedError, type ObjectInfo, type ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

export type PackagePorts = { readonly objects: ObjectStore; readonly intake: Pick<IntakeSettings, 'uploadBucket'> };

export type PackageCheck = {
  readonly packages: readonly PackageRef[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Reports of the packages that exist, in the order of the program. */
  readonly reports: readonly PackageReport[];
  /** Packages that do not exist, in buckets that can be read: they may still be uploaded. */
  readonly missingUris: readonly string[];
};

/** A package that was inspected already, so that it is not streamed twice. */
export type InspectedPackage = { readonly uri: string; readonly generation: string; readonly report: PackageReport };

type Inspected = {
  readonly uri: string;
  readonly info: ObjectInfo;
  readonly report: PackageReport;
  readonly ofModule: Pick<PackageReport, 'problems' | 'warnings'>;
};

/**
 * Inspects every package of a job and pins its generation: VMs fetch these generations only. The program's module must
 * be in one of the packages; that the others lack it is not a problem.
 */
export async function checkPackages(
  ports: PackagePorts,
  program: PythonProgram,
  known: InspectedPackage | null,
): Promise<PackageCheck> {
  const { found, missingUris, problems } = await findPackages(ports, program.packageUris);
  const inspected: Inspected[] = [];
  for (const { uri, info } of found) {
    const isKnown = known?.uri === uri && known.generation === info.generation;
    const report = isKnown ? known.report : await inspectPackage(packageSourceOf(ports.objects, info));
    inspected.push({ uri, info, report, ofModule: report.validateModule(program.module) });
  }
  const findings = findingsOf(inspected);
  return {
    packages: inspected.map(({ uri, info }) => pin(uri, info)),
    problems: [...problems, ...findings.problems],
    warnings: findings.warnings,
    reports: inspected.map(({ report }) => report),
    missingUris,
  };
}

function findingsOf(inspected: readonly Inspected[]): Pick<PackageCheck, 'problems' | 'warnings'> {
  const isModuleFound = inspected.some(
    ({ report, ofModule }) => report.problems.length + ofModule.problems.length === 0,
  );
  const withUri = (uri: string, problem: Problem): Problem =>
    inspected.length > 1 ? { ...problem, message: `${uri}: ${problem.message}` } : problem;
  return {
    problems: inspected.flatMap(({ uri, report, ofModule }) =>
      [...report.problems, ...(isModuleFound ? [] : ofModule.problems)].map((problem) => withUri(uri, problem)),
    ),
    warnings: inspected.flatMap(({ uri, report, ofModule }) =>
      [...report.warnings, ...ofModule.warnings].map((warning) => withUri(uri, warning)),
    ),
  };
}

function pin(uri: string, { generation, crc32c, sizeBytes }: ObjectInfo): PackageRef {
  return { uri, generation, crc32c, sizeBytes };
}

/** Lints the packages against the job's machines: what would fail there, or leave a GPU idle. */
export function lintJobPackages(
  { replicaGroups, runtimeVersion }: JobSpec,
  { program, packages }: { readonly program: PythonProgram; readonly packages: readonly PackageReport[] },
  { runtimeOf }: Pick<IntakeSettings, 'runtimeOf'>,
) {
  return lintPackages({
    packages,
    program,
    machines: replicaGroups.map((group) => ({
      role: group.role,
      count: group.count,
      gpusPerMachine: countGpus(group),
    })),
    isTpuJob: false,
    pythonVersion: runtimeOf(runtimeVersion)?.pythonVersion ?? null,
    disabledChecks: new Set(),
  });
}

export type FoundPackages = {
  /** In the order of the program. */
  readonly found: readonly { readonly uri: string; readonly info: ObjectInfo }[];
  readonly missingUris: readonly string[];
  /** One for each bucket that does not exist or that this deployment may not read. */
  readonly problems: readonly Problem[];
};

type Lookup = { readonly uri: string; readonly bucket: string; readonly info: ObjectInfo | 'DENIED' | undefined };

/**
 * Looks up the packages of a job. A bucket that may not be read is the user's to fix; for the upload bucket it is a
 * defect of the deployment, and thrown. Costs one request per package, and one more per bucket in which a package is
 * missing.
 */
export async function findPackages(ports: PackagePorts, uris: readonly string[]): Promise<FoundPackages> {
  const lookups = await Promise.all(uris.map((uri) => lookUp(ports, uri)));
  const unreadable = await listUnreadableBuckets(ports, lookups);
  return {
    found: lookups.flatMap(({ uri, info }) => (info === undefined || info === 'DENIED' ? [] : [{ uri, info }])),
    missingUris: lookups
      .filter(({ info, bucket }) => info === undefined && !unreadable.has(bucket))
      .map(({ uri }) => uri),
    problems: [...unreadable].map((bucket) => unreadableBucket(bucket, lookups)),
  };
}

async function lookUp({ objects, intake }: PackagePorts, uri: string): Promise<Lookup> {
  const object = parseGsUri(uri);
  const { bucket } = object;
  try {
    return { uri, bucket, info: await objects.stat(object) };
  } catch (error) {
    if (error instanceof AccessDeniedError && bucket !== intake.uploadBucket) {
      return { uri, bucket, info: 'DENIED' };
    }
    throw error;
  }
}

/** Queries only buckets in which every package is missing: they may not exist. */
async function listUnreadableBuckets(
  { objects, intake }: PackagePorts,
  lookups: readonly Lookup[],
): Promise<ReadonlySet<string>> {
  const bucketsOf = (info: Lookup['info']) =>
    new Set(lookups.flatMap((lookup) => (lookup.info === info ? [lookup.bucket] : [])));
  const denied = bucketsOf('DENIED');
  const doubtful = [...bucketsOf(undefined).difference(denied)].filter((bucket) => bucket !== intake.uploadBucket);
  const answers = await Promise.all(
    doubtful.map(async (bucket) => ((await objects.hasBucket(bucket)) ? [] : [bucket])),
  );
  return denied.union(new Set(answers.flat()));
}

function unreadableBucket(bucket: string, lookups: readonly Lookup[]): Problem {
  const uris = lookups.filter((lookup) => lookup.bucket === bucket).map(({ uri }) => uri);
  return {
    code: 'PACKAGE_BUCKET_UNSEEN',
    message: `${uris.join(', ')}: the bucket ${bucket} does not exist, or this deployment may not read it.`,
    remedy: `Upload the package to the upload bucket, beside its job file; or grant roles/storage.objectViewer on ${bucket} to the accounts on-upload, on-submit and vm (terraform output service_accounts).`,
    path: 'trainingInput.packageUris',
  };
}
