import { moduleOf } from '#shared/domain/container.ts';
import type { PackageRef } from '#shared/domain/job.ts';
import type { JobSpec, Program } from '#shared/domain/job-spec.ts';
import { unique } from '#shared/job-file/parser/findings.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { packageProblem } from '#shared/package/archive/package-problem.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import { checksToSkip, lintPackages } from '#shared/package/lint/lint-packages.ts';
import { machineGroupOf } from '#shared/package/lint/lint-subject.ts';
import { checkWheelArchitecture } from '#shared/package/metadata/wheel.ts';
import { validateArchives } from '#shared/package/validate-archives.ts';
import {
  AccessDeniedError,
  type ObjectInfo,
  type ObjectStore,
  PerimeterDeniedError,
} from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { reachesInternet } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

export type PackagePorts = { readonly objects: ObjectStore; readonly intake: Pick<IntakeSettings, 'uploadBucket'> };

export type PackageCheck = {
  /** Pins the packages of all programs, each package once, with its layout for each program whose image is pinned. */
  readonly pin: (programs: readonly Program[]) => readonly PackageRef[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Reports of a program's packages that exist, in the order of the program. */
  readonly reportsOf: (program: Program) => readonly PackageReport[];
  /** Packages that do not exist, in buckets that can be read: they may still be uploaded. */
  readonly missingUris: readonly string[];
};

/** A package that was inspected already, so that it is not streamed twice. */
export type InspectedPackage = { readonly uri: string; readonly generation: string; readonly report: PackageReport };

type Inspected = { readonly uri: string; readonly info: ObjectInfo; readonly report: PackageReport };

/** The programs of a job, each once: a group without one of its own runs the job's. */
export function programsOf({ program, replicaGroups }: JobSpec): readonly Program[] {
  return [...new Set(replicaGroups.map((group) => group.program ?? program))];
}

/**
 * Inspects every package of a job and pins its generation: VMs fetch these generations only. The module of a program
 * must be in one of its packages; that the others lack it is not a problem.
 */
export async function checkPackages(
  ports: PackagePorts,
  programs: readonly Program[],
  known: InspectedPackage | null,
): Promise<PackageCheck> {
  const uris = [...new Set(programs.flatMap(({ packageUris }) => packageUris))];
  const { found, missingUris, problems } = await findPackages(ports, uris);
  const tooLarge = checkTotal(found.map(({ info }) => info));
  const inspected: Inspected[] = [];
  for (const { uri, info } of tooLarge.length > 0 ? [] : found) {
    const isKnown = known?.uri === uri && known.generation === info.generation;
    const report = isKnown ? known.report : await inspectPackage(packageSourceOf(ports.objects, info));
    inspected.push({ uri, info, report });
  }
  const findings = programs.map((program) => {
    const named = packagesOf(program, inspected).map(({ uri, report }) => ({ name: uri, report }));
    return validateArchives(named, program.module, inspected.length > 1);
  });
  return {
    pin: (pinned) => inspected.map((one) => pin(one, pinned)),
    problems: [...problems, ...tooLarge, ...unique(findings.flatMap((finding) => finding.problems))],
    warnings: unique(findings.flatMap((finding) => finding.warnings)),
    reportsOf: (program) => packagesOf(program, inspected).map(({ report }) => report),
    missingUris,
  };
}

/** The functions that read packages have the time for as many bytes as this, in one package or several. */
function checkTotal(infos: readonly ObjectInfo[]): readonly Problem[] {
  const { compressedBytesMax } = PACKAGE_LIMITS;
  const totalBytes = infos.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const message = `The packages of the job have ${totalBytes} bytes in total; the maximum is ${compressedBytesMax}.`;
  return totalBytes > compressedBytesMax ? [packageProblem('ARCHIVE_TOO_LARGE', message)] : [];
}

function packagesOf({ packageUris }: Program, inspected: readonly Inspected[]): readonly Inspected[] {
  return packageUris.flatMap((wanted) => inspected.find(({ uri }) => uri === wanted) ?? []);
}

function pin({ uri, info, report }: Inspected, programs: readonly Program[]): PackageRef {
  const { generation, crc32c, sizeBytes } = info;
  const modules = new Set(programs.filter(({ packageUris }) => packageUris.includes(uri)).map(moduleOf));
  const layouts = [...modules].flatMap((module) => {
    const layout = report.layoutOf(module);
    return layout === null ? [] : [{ module, layout }];
  });
  return { uri, generation, crc32c, sizeBytes, layouts };
}

/** Lints the packages of each program against its machines: what would fail there, or leave a GPU idle. */
export function lintJobPackages(
  spec: JobSpec,
  { reportsOf }: Pick<PackageCheck, 'reportsOf'>,
  intake: Pick<IntakeSettings, 'runtimeOf' | 'architectureOf' | 'internetAccess'>,
): Pick<PackageCheck, 'problems' | 'warnings'> {
  const { architectureOf, internetAccess } = intake;
  const runtime = intake.runtimeOf(spec.runtimeVersion);
  const found = programsOf(spec).map((program) =>
    lintPackages({
      packages: reportsOf(program),
      // No module has this name: without one, what runs is not known.
      program: { module: program.module ?? '' },
      machines: spec.replicaGroups.filter((group) => (group.program ?? spec.program) === program).map(machineGroupOf),
      isTpuJob: false,
      pythonVersion: program.kind === 'PYTHON' ? (runtime?.pythonVersion ?? null) : null,
      imagePackages: runtime?.packages ?? null,
      reachesInternet: internetAccess && reachesInternet(spec, internetAccess),
      disabledChecks: checksToSkip(program, spec),
    }),
  );
  const foreign = spec.replicaGroups.flatMap((group) =>
    reportsOf(group.program ?? spec.program).flatMap((report) =>
      checkWheelArchitecture(report, architectureOf(group.machineType)),
    ),
  );
  return {
    problems: unique([...found.flatMap(({ problems }) => problems), ...foreign]),
    warnings: unique(found.flatMap(({ warnings }) => warnings)),
  };
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
    if (error instanceof PerimeterDeniedError) {
      throw error;
    }
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
