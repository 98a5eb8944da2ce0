import type { PackageRef } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { NO_DETAILS, type PackageReport } from '#shared/package/inspect-package.ts';
import type { InspectedPackage } from '#shared/use-cases/intake/checks/check.ts';

/** The package that the reference pins, with a report of its layouts, or with this report. */
export function inspectedPackage(
  { uri, layouts = [], ...pinned }: PackageRef,
  report?: PackageReport,
): InspectedPackage {
  const empty = { format: null, problems: [], warnings: [], entryCount: 0, uncompressedBytes: 0 };
  const layoutOf = (module: string) => layouts.find((one) => one.module === module)?.layout ?? null;
  const info = { bucket: 'jobs', name: uri, contentType: '', metadata: {}, updatedAt: 0, ...pinned };
  return { uri, info, report: report ?? { ...NO_DETAILS, ...empty, layoutOf } };
}

/** The packages of the job's program, of which each has this report. */
export function inspectedPackagesOf({ program }: JobSpec, report: PackageReport): readonly InspectedPackage[] {
  return program.packageUris.map((uri) =>
    inspectedPackage({ uri, generation: '1', crc32c: 'yZRlqg==', sizeBytes: 1 }, report),
  );
}
