import { countGpus, findAccelerator } from '#shared/catalog/catalog.ts';
import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import { type Requirement, requirementsOf } from '#shared/package/lint/requirement.ts';
import type { DistributionIndicator } from '#shared/package/scan/python-indicators.ts';

/** Input of the lint checks: packages and the machines that they will run on. */
export type LintInput = {
  readonly packages: readonly PackageReport[];
  readonly program: { readonly module: string };
  readonly machines: readonly MachineGroup[];
  readonly isTpuJob: boolean;
  /** The Python version of the machine image, `3.10`; null if unknown. */
  readonly pythonVersion: string | null;
  /** The packages of the machine image as pins, `numpy==2.2.6`; null if unknown. */
  readonly imagePackages: readonly string[] | null;
  /** Whether VMs reach hosts outside of Google; null or undefined if that is not known. */
  readonly reachesInternet?: boolean | null | undefined;
};

/** Machines of one role: `master`, `worker`, `ps` or `evaluator`. */
export type MachineGroup = {
  readonly role: string;
  readonly count: number;
  readonly gpusPerMachine: number;
  /** The list price of one machine's GPUs on demand; missing if they are part of the machine type. */
  readonly gpuPerHourUsd?: number | undefined;
};

export function machineGroupOf({ role, count, ...group }: ReplicaGroup): MachineGroup {
  const { accelerator } = group;
  const each = accelerator === null ? null : findAccelerator(accelerator.type)?.onDemandPerHourUsd;
  const gpuPerHourUsd = typeof each === 'number' ? each * (accelerator?.count ?? 0) : undefined;
  return { role, count, gpusPerMachine: countGpus(group), gpuPerHourUsd };
}

/** Evidence from all packages of a job together, because they are installed in one environment. */
export type LintSubject = Omit<LintInput, 'machines'> & {
  readonly requirements: readonly Requirement[];
  readonly imports: ReadonlySet<string>;
  readonly distribution: ReadonlySet<DistributionIndicator>;
  /** Whether all sources were scanned and contain the program. */
  readonly isWholeProgram: boolean;
  /** The GPUs of all machines. */
  readonly gpuCount: number;
  /** The list price of all GPUs an hour; null if unknown. */
  readonly gpuPerHourUsd: number | null;
  /** The most GPUs of one training machine. */
  readonly gpusPerMachineMax: number;
  /** Training machines: the master and the workers. An evaluator works independently. */
  readonly trainerCount: number;
  readonly psCount: number;
};

/** Excludes packages with problems, whose evidence may be incomplete. */
export function createLintSubject(given: LintInput): LintSubject {
  const packages = given.packages.filter(({ problems }) => problems.length === 0);
  const isTrainer = ({ role }: MachineGroup) => role === 'master' || role === 'worker';
  const trainers = given.machines.filter(isTrainer);
  const withGpus = given.machines.filter(({ gpusPerMachine }) => gpusPerMachine > 0);
  const hasProgram = packages.some(({ validateModule }) => validateModule(given.program.module).problems.length === 0);
  return {
    ...given,
    packages,
    requirements: packages.flatMap((report) => requirementsOf(report, given)),
    imports: new Set(packages.flatMap(({ evidence }) => [...evidence.imports])),
    distribution: new Set(packages.flatMap(({ evidence }) => [...evidence.distribution])),
    isWholeProgram:
      hasProgram && packages.length === given.packages.length && packages.every(({ evidence }) => evidence.isComplete),
    gpuCount: given.machines.reduce((sum, { count, gpusPerMachine }) => sum + count * gpusPerMachine, 0),
    gpuPerHourUsd: withGpus.some(({ gpuPerHourUsd }) => gpuPerHourUsd === undefined)
      ? null
      : withGpus.reduce((sum, { count, gpuPerHourUsd = 0 }) => sum + count * gpuPerHourUsd, 0),
    gpusPerMachineMax: Math.max(0, ...trainers.map(({ gpusPerMachine }) => gpusPerMachine)),
    trainerCount: trainers.reduce((sum, { count }) => sum + count, 0),
    psCount: given.machines.reduce((sum, { role, count }) => sum + (role === 'ps' ? count : 0), 0),
  };
}
