import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describeError, Failure } from '#cli/core/failure.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { JudgedRequest } from '#cli/submit/job-request.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import { countGpus, isTpuMachine } from '#shared/catalog/count-gpus.ts';
import type { JobPlan } from '#shared/job-file/validation/check-job.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import { lintPackages } from '#shared/package/lint/lint-packages.ts';
import { NO_EVIDENCE } from '#shared/package/package-evidence.ts';
import type { Problem } from '#shared/protocol/report.ts';

export type NamedReport = { readonly name: string; readonly report: PackageReport };

type Found = { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/** Looks into a package as intake does: an archive, or a folder, which is built as a submission would build it. */
export async function inspectLocalPackage(path: string): Promise<PackageReport> {
  const found = await statOf(path);
  if (!found.isDirectory()) {
    return inspectPackage({
      name: basename(path),
      sizeBytes: found.size,
      open: async () => createReadStream(path),
      readRange: ({ startByte, endByte }) => buffer(createReadStream(path, { start: startByte, end: endByte - 1 })),
    });
  }
  return inspectBuiltPackage(await buildSourceDistribution(path));
}

/** Looks into a package that was built or read. */
export function inspectBuiltPackage({ fileName, bytes }: Pick<BuiltPackage, 'fileName' | 'bytes'>) {
  return inspectPackage(sourceOf(fileName, bytes));
}

/**
 * What is wrong with packages for a job: with their archives, with the module to be run, which one of them must have,
 * and with what they need of the machines. Without a plan the machines are not known, and nothing is said of them.
 */
export function judgePackages(
  packages: readonly NamedReport[],
  job: { readonly module: string | undefined; readonly plan: Pick<JobPlan, 'groups'> | null },
  silenced: ReadonlySet<string>,
): Found {
  const { module, plan } = job;
  const reports = packages.map(({ report }) => report);
  const found: Found[] = [judgeArchives(packages, module)];
  if (module !== undefined && plan !== null) {
    const { groups } = plan;
    const machines = groups.map(({ role, count, ...group }) => ({ role, count, gpusPerMachine: countGpus(group) }));
    const isTpuJob = groups.some(isTpuMachine);
    const program = { module };
    found.push(lintPackages({ packages: reports, program, machines, isTpuJob, pythonVersion: null, silenced }));
  }
  return {
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
  };
}

/** As intake does: where one package has the module, it is not missed in the others. */
function judgeArchives(packages: readonly NamedReport[], module: string | undefined): Found {
  const judged = packages.map(({ name, report }) => {
    const ofModule = module === undefined ? { problems: [], warnings: [] } : report.judgeModule(module);
    return { name, report, ofModule };
  });
  const hasModule = judged.some(({ report, ofModule }) => report.problems.length + ofModule.problems.length === 0);
  const tell = (name: string, problem: Problem): Problem =>
    packages.length > 1 ? { ...problem, message: `${name}: ${problem.message}` } : problem;
  return {
    problems: judged.flatMap(({ name, report, ofModule }) =>
      [...report.problems, ...(hasModule ? [] : ofModule.problems)].map((problem) => tell(name, problem)),
    ),
    warnings: judged.flatMap(({ name, report, ofModule }) =>
      [...report.warnings, ...ofModule.warnings].map((warning) => tell(name, warning)),
    ),
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
 * Judges a job together with the packages that are to be uploaded for it, as intake will: what intake refuses, a key in
 * a package above all, is better not sent. What only the cloud has is left to intake.
 */
export async function judgeBuiltPackages(
  judged: JudgedRequest,
  built: readonly BuiltPackage[],
): Promise<JudgedRequest> {
  const { spec } = judged;
  if (spec?.program.kind !== 'PYTHON' || built.length === 0) {
    return judged;
  }
  const packages: NamedReport[] = [];
  for (const one of built) {
    packages.push({ name: one.fileName, report: await inspectBuiltPackage(one) });
  }
  const { module, packageUris } = spec.program;
  if (packageUris.length > built.length) {
    packages.push(UNSEEN);
  }
  const found = judgePackages(packages, { module, plan: { groups: spec.replicaGroups } }, NONE_SILENCED);
  return {
    ...judged,
    problems: [...judged.problems, ...found.problems],
    warnings: [...found.warnings, ...judged.warnings],
  };
}

/** A job file has no place for what is to be passed over: pyproject.toml has, where intake reads it, too. */
const NONE_SILENCED: ReadonlySet<string> = new Set();

/** Stands for packages that lie in buckets: the module may be in one of them, and they are not the whole program. */
const UNSEEN: NamedReport = {
  name: '',
  report: {
    ...{ name: null, version: null, requiresPython: null, requirements: [] },
    ...{ format: null, problems: [], warnings: [], entryCount: 0, uncompressedBytes: 0, wheelTags: [] },
    pythonModules: [],
    judgeModule: () => ({ problems: [], warnings: [] }),
    jobFiles: [],
    evidence: NO_EVIDENCE,
  },
};
