import { countGpus } from '#shared/catalog/count-gpus.ts';
import type { JobSpec, PythonProgram } from '#shared/domain/job-spec.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import { lintPackages } from '#shared/package/lint/lint-packages.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

/** What would fail on the machines of this job, or leave a GPU idle; packages say themselves what they do not want to hear. */
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
    silenced: new Set(),
  });
}
