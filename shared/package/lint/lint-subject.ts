import type { PackageReport } from '#shared/package/inspect-package.ts';
import { type Requirement, requirementsOf } from '#shared/package/lint/requirement.ts';
import type { DistributionSign } from '#shared/package/scan/python-signs.ts';

/** Packages and the machines that they are to run on. */
export type AdviceGiven = {
  readonly packages: readonly PackageReport[];
  readonly program: { readonly module: string };
  readonly machines: readonly MachineGroup[];
  readonly isTpuJob: boolean;
  /** Of the machine image, `3.10`; null where it is not known. */
  readonly pythonVersion: string | null;
};

/** Machines of one role, of `ROLES`: `master`, `worker`, `ps`, `evaluator`. */
export type MachineGroup = { readonly role: string; readonly count: number; readonly gpusPerMachine: number };

/** What the checks look at: the packages of a job as one, since one environment holds them all. */
export type AdviceSubject = Omit<AdviceGiven, 'machines'> & {
  readonly requirements: readonly Requirement[];
  readonly imports: ReadonlySet<string>;
  readonly distribution: ReadonlySet<DistributionSign>;
  /** Whether all sources were looked into, and the program is among them. */
  readonly isWholeProgram: boolean;
  /** Of all machines together. */
  readonly gpuCount: number;
  /** Of one machine that trains. */
  readonly gpusPerMachineMax: number;
  /** Machines that train: the master and the workers. An evaluator rightly works by itself. */
  readonly trainerCount: number;
  readonly psCount: number;
};

/** A package with a problem is left out: what is known of it may be incomplete. */
export function describeSubject(given: AdviceGiven): AdviceSubject {
  const packages = given.packages.filter(({ problems }) => problems.length === 0);
  const isTrainer = ({ role }: MachineGroup) => role === 'master' || role === 'worker';
  const trainers = given.machines.filter(isTrainer);
  const hasProgram = packages.some(({ judgeModule }) => judgeModule(given.program.module).problems.length === 0);
  return {
    ...given,
    packages,
    requirements: packages.flatMap((report) => requirementsOf(report, given.pythonVersion)),
    imports: new Set(packages.flatMap(({ evidence }) => [...evidence.imports])),
    distribution: new Set(packages.flatMap(({ evidence }) => [...evidence.distribution])),
    isWholeProgram:
      hasProgram && packages.length === given.packages.length && packages.every(({ evidence }) => evidence.isComplete),
    gpuCount: given.machines.reduce((sum, { count, gpusPerMachine }) => sum + count * gpusPerMachine, 0),
    gpusPerMachineMax: Math.max(0, ...trainers.map(({ gpusPerMachine }) => gpusPerMachine)),
    trainerCount: trainers.reduce((sum, { count }) => sum + count, 0),
    psCount: given.machines.reduce((sum, { role, count }) => sum + (role === 'ps' ? count : 0), 0),
  };
}
