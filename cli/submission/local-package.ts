import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describeError, Failure } from '#cli/failure.ts';
import { buildSourceDistribution } from '#cli/submission/source-distribution.ts';
import { countGpus, isTpuMachine } from '#shared/catalog/count-gpus.ts';
import { adviseOnPackages } from '#shared/package/advice/advise-on-packages.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { PackageSource } from '#shared/package/package-source.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { JobPlan } from '#shared/spec/check-job.ts';

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
  const { fileName, bytes } = await buildSourceDistribution(path);
  return inspectPackage(sourceOf(fileName, bytes));
}

/**
 * What is wrong with a package for a job: with its archive, with the module to be run, and with what it needs of the
 * machines. Without a plan the machines are not known, and nothing is said of them.
 */
export function judgePackage(
  report: PackageReport,
  job: { readonly module: string | undefined; readonly plan: JobPlan | null },
  silenced: ReadonlySet<string>,
): Found {
  const found: Found[] = [report];
  if (job.module !== undefined) {
    const { module } = job;
    found.push(report.judgeModule(module));
    if (job.plan !== null) {
      const { groups } = job.plan;
      const machines = groups.map(({ role, count, ...group }) => ({ role, count, gpusPerMachine: countGpus(group) }));
      const isTpuJob = groups.some(isTpuMachine);
      found.push(
        adviseOnPackages({
          packages: [report],
          program: { module },
          machines,
          isTpuJob,
          pythonVersion: null,
          silenced,
        }),
      );
    }
  }
  return {
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
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
