import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describeError, Failure } from '#cli/core/failure.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import { OFFLINE_CONTEXT } from '#cli/submit/job-file.ts';
import type { ValidatedRequest } from '#cli/submit/job-request.ts';
import { dryRunUri } from '#cli/submit/package-source.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import { isTpuMachine } from '#shared/catalog/catalog.ts';
import type { JobSpec, Program, ReplicaGroup } from '#shared/domain/job-spec.ts';
import { unique } from '#shared/job-file/parser/findings.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { inspectPackage, NO_DETAILS, type PackageReport } from '#shared/package/inspect-package.ts';
import { checksToSkip, lintPackages } from '#shared/package/lint/lint-packages.ts';
import { machineGroupOf } from '#shared/package/lint/lint-subject.ts';
import { type NamedReport, validateArchives } from '#shared/package/validate-archives.ts';
import type { Problem } from '#shared/protocol/problem.ts';

type Findings = {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly hints?: readonly Problem[];
};

/** The Python version of a machine image, and the packages that it has. */
type ImageFacts = { readonly pythonVersion: string; readonly packages: readonly string[] };

/** Inspects an archive, or the archive built from a folder, with intake's checks. Throws Failure if unreadable. */
export async function inspectLocalPackage(path: string): Promise<PackageReport> {
  const found = await statOf(path);
  if (!found.isDirectory() && !path.endsWith('.py')) {
    return inspectPackage({
      name: basename(path),
      sizeBytes: found.size,
      open: async () => createReadStream(path),
      readRange: ({ startByte, endByte }) => buffer(createReadStream(path, { start: startByte, end: endByte - 1 })),
    });
  }
  return inspectBuiltPackage(await buildSourceDistribution(path));
}

function inspectBuiltPackage({ fileName, bytes }: Pick<BuiltPackage, 'fileName' | 'bytes'>) {
  return inspectPackage(sourceOf(fileName, bytes));
}

/**
 * Validates a job's packages: the archives, the module to run (one package must contain it), and the fit with the job's
 * machines. Without a plan the machines are unknown and not checked.
 */
export function validatePackages(
  packages: readonly NamedReport[],
  job: {
    readonly module: string | undefined;
    readonly plan: { readonly groups: readonly ReplicaGroup[] } | null;
    readonly image?: ImageFacts | undefined;
    readonly reachesInternet?: boolean | null | undefined;
  },
  disabledChecks: ReadonlySet<string>,
): Findings {
  const { module, plan, reachesInternet } = job;
  const reports = packages.map(({ report }) => report);
  const found: Findings[] = [validateArchives(packages, module ?? null, packages.length > 1)];
  if (module !== undefined && plan !== null) {
    const { groups } = plan;
    const { pythonVersion, packages: imagePackages } = job.image ?? { pythonVersion: null, packages: null };
    const image = { pythonVersion, imagePackages, reachesInternet };
    const machines = groups.map(machineGroupOf);
    const isTpuJob = groups.some(isTpuMachine);
    const program = { module };
    found.push(lintPackages({ packages: reports, program, machines, isTpuJob, ...image, disabledChecks }));
  }
  return {
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
    hints: found.flatMap(({ hints = [] }) => hints),
  };
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    throw new Failure(`The package ${path} cannot be read (${describeError(error)}): check --package.`);
  }
}

function sourceOf(name: string, bytes: Uint8Array): PackageSource {
  return {
    name,
    sizeBytes: bytes.byteLength,
    open: async () => Readable.from([bytes]),
    readRange: async ({ startByte, endByte }) => bytes.subarray(startByte, endByte),
    readWhole: async () => bytes,
  };
}

/**
 * Validates a job together with the packages to be uploaded for it, with intake's checks, so that a package that intake
 * would reject (in particular one that contains a key) is not uploaded: each program with its own packages and
 * machines. Packages in buckets are left to intake.
 */
export async function validateBuiltPackages(
  validated: ValidatedRequest,
  built: readonly BuiltPackage[],
): Promise<ValidatedRequest> {
  const { spec } = validated;
  if (spec === null || built.length === 0) {
    return validated;
  }
  const local = new Map<string, NamedReport>();
  for (const one of built) {
    local.set(placeholderOf(one), { name: one.fileName, report: await inspectBuiltPackage(one) });
  }
  const programs = [...new Set(spec.replicaGroups.map((group) => group.program ?? spec.program))];
  const found = programs.map((program) => validateProgram(program, spec, local));
  return {
    ...validated,
    problems: [...validated.problems, ...unique(found.flatMap(({ problems }) => problems))],
    warnings: [...unique(found.flatMap(({ warnings }) => warnings)), ...validated.warnings],
  };
}

function validateProgram(program: Program, spec: JobSpec, local: ReadonlyMap<string, NamedReport>): Findings {
  const packages = program.packageUris.flatMap((uri) => local.get(uri) ?? []);
  if (packages.length === 0) {
    return { problems: [], warnings: [] };
  }
  const hasRemote = packages.length < program.packageUris.length;
  const groups = spec.replicaGroups.filter((group) => (group.program ?? spec.program) === program);
  const module = program.module ?? undefined;
  return validatePackages(
    hasRemote ? [...packages, REMOTE_PACKAGES] : packages,
    { module, plan: { groups } },
    checksToSkip(program, spec),
  );
}

/** The name of the package in the job before it is uploaded. */
function placeholderOf({ source }: BuiltPackage): string {
  return `${OFFLINE_CONTEXT.packageBase}/${dryRunUri(source)}`;
}

/** Placeholder for packages in buckets, which may contain the module: the local packages are not the whole program. */
const REMOTE_PACKAGES: NamedReport = {
  name: '',
  report: { ...NO_DETAILS, format: null, problems: [], warnings: [], entryCount: 0, uncompressedBytes: 0 },
};
