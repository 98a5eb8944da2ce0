import { moduleOf } from '#shared/domain/container.ts';
import type { PackageRef } from '#shared/domain/job.ts';
import type { JobSpec, Program } from '#shared/domain/job-spec.ts';
import { fieldPath } from '#shared/job-file/draft/job-draft.ts';
import { unique } from '#shared/job-file/parser/findings.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { packageProblem } from '#shared/package/archive/package-problem.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import { validateArchives } from '#shared/package/validate-archives.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check, CheckedJob, InspectedPackage } from '#shared/use-cases/intake/checks/check.ts';
import { findPackages } from '#shared/use-cases/intake/checks/find-packages.ts';

type Packages = readonly InspectedPackage[];

/**
 * Inspects every package of a job and pins its generation: VMs fetch these generations only. The module of a program
 * must be in one of its packages; that the others lack it is not a problem.
 */
export const checkPackages: Check = async ({ draft, spec, enclosingPackage: known }, ports) => {
  const programs = programsOf(spec);
  const uris = [...new Set(programs.flatMap(({ packageUris }) => packageUris))];
  const { found, missingUris, problems } = await findPackages(ports, uris);
  const tooLarge = checkTotal(found.map(({ info }) => info));
  const packages: InspectedPackage[] = [];
  for (const { uri, info } of tooLarge.length > 0 ? [] : found) {
    const isKnown = known?.uri === uri && known.info.generation === info.generation;
    const report = isKnown ? known.report : await inspectPackage(packageSourceOf(ports.objects, info));
    packages.push({ uri, info, report });
  }
  const findings = programs.map((program) => {
    const named = packagesOf(program, packages).map(({ uri, report }) => ({ name: uri, report }));
    return validateArchives(named, program.module, packages.length > 1);
  });
  return {
    problems: [...problems, ...tooLarge, ...unique(findings.flatMap((finding) => finding.problems))],
    warnings: unique(findings.flatMap((finding) => finding.warnings)),
    missing: missingUris.map((uri) => ({
      code: 'PACKAGE_MISSING',
      message: `Package ${uri} does not exist.`,
      remedy:
        'Upload it. If it is in the folder of its job file, the job then starts; otherwise upload the job file again.',
      path: fieldPath(draft.dialect, 'packageUris'),
    })),
    pins: { packages, spec: { ...spec, passesJobDir: passesJobDir({ draft, spec }, packages) } },
  };
};

/** The programs of a job, each once: a group without one of its own runs the job's. */
export function programsOf({ program, replicaGroups }: JobSpec): readonly Program[] {
  return [...new Set(replicaGroups.map((group) => group.program ?? program))];
}

/** The reports of a program's packages, in the order of the program. */
export function reportsOf(program: Program, packages: Packages): readonly PackageReport[] {
  return packagesOf(program, packages).map(({ report }) => report);
}

/** References to the packages, each with its layout for each of the job's programs, whose images are pinned. */
export function packageRefsOf({ spec, packages }: Pick<CheckedJob, 'spec' | 'packages'>): readonly PackageRef[] {
  const programs = programsOf(spec);
  return packages.map(({ uri, info: { generation, crc32c, sizeBytes }, report }) => {
    const modules = new Set(programs.filter(({ packageUris }) => packageUris.includes(uri)).map(moduleOf));
    const layouts = [...modules].flatMap((module) => {
      const layout = report.layoutOf(module);
      return layout === null ? [] : [{ module, layout }];
    });
    return { uri, generation, crc32c, sizeBytes, layouts };
  });
}

/** The functions that read packages have the time for as many bytes as this, in one package or several. */
function checkTotal(infos: readonly ObjectInfo[]): readonly Problem[] {
  const { compressedBytesMax } = PACKAGE_LIMITS;
  const totalBytes = infos.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const message = `The packages of the job have ${totalBytes} bytes in total; the maximum is ${compressedBytesMax}.`;
  return totalBytes > compressedBytesMax ? [packageProblem('ARCHIVE_TOO_LARGE', message)] : [];
}

function packagesOf({ packageUris }: Program, packages: Packages): Packages {
  return packageUris.flatMap((wanted) => packages.find(({ uri }) => uri === wanted) ?? []);
}

/**
 * AI Platform passes `--job-dir` only if the job sets it. Here every job has a job directory, but a program that does not
 * know the argument would reject it. A program that was not scanned completely may know it; what is in an image is not
 * known.
 */
function passesJobDir({ draft, spec }: Pick<CheckedJob, 'draft' | 'spec'>, packages: Packages): boolean {
  const mayTakeJobDir = ({ evidence }: PackageReport) => evidence.mentionsJobDir || !evidence.isComplete;
  const allTakeIt = () => programsOf(spec).every((program) => reportsOf(program, packages).some(mayTakeJobDir));
  return spec.passesJobDir && (draft.jobDir !== undefined || allTakeIt());
}
