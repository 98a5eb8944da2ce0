import { unique } from '#shared/job-file/parser/findings.ts';
import { checksToSkip, lintPackages } from '#shared/package/lint/lint-packages.ts';
import { machineGroupOf } from '#shared/package/lint/lint-subject.ts';
import { checkWheelArchitecture } from '#shared/package/metadata/wheel.ts';
import { reachesInternet } from '#shared/protocol/internet-access.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import { programsOf, reportsOf } from '#shared/use-cases/intake/checks/packages.ts';

/** Lints the packages of each program against its machines: what would fail there, or leave a GPU idle. */
export const checkPrograms: Check = ({ spec, packages }, { intake }) => {
  const { architectureOf, internetAccess } = intake;
  const runtime = intake.runtimeOf(spec.runtimeVersion);
  const found = programsOf(spec).map((program) =>
    lintPackages({
      packages: reportsOf(program, packages),
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
    reportsOf(group.program ?? spec.program, packages).flatMap((report) =>
      checkWheelArchitecture(report, architectureOf(group.machineType)),
    ),
  );
  return {
    problems: unique([...found.flatMap(({ problems }) => problems), ...foreign]),
    warnings: unique(found.flatMap(({ warnings }) => warnings)),
  };
};
