import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import { lintPackages } from '#shared/package/lint/lint-packages.ts';
import type { MachineGroup } from '#shared/package/lint/lint-subject.ts';
import { sourceOf, tarGzOf } from './build-archives.ts';

export type Files = Readonly<Record<string, string>>;

/** Differences from a job of one machine with one GPU that runs `trainer.task` with Python 3.10. */
export type Job = {
  readonly machines?: readonly MachineGroup[];
  readonly isTpuJob?: boolean;
  readonly pythonVersion?: string | null;
  readonly imagePackages?: readonly string[] | undefined;
  readonly reachesInternet?: boolean | null | undefined;
  readonly module?: string;
  readonly disabledChecks?: readonly string[];
};

export const ONE_GPU: readonly MachineGroup[] = [{ role: 'master', count: 1, gpusPerMachine: 1 }];
export const NO_GPU: readonly MachineGroup[] = [{ role: 'master', count: 1, gpusPerMachine: 0 }];

/** The report of a source distribution of these files, by default with a module `trainer.task`. */
export async function reportOf(files: Files, name = 'trainer-1.0.tar.gz'): Promise<PackageReport> {
  const all = {
    'setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    'trainer/__init__.py': '',
    'trainer/task.py': 'import os\n',
    ...files,
  };
  const entries = Object.entries(all).map(([path, data]) => ({ path: `trainer-1.0/${path}`, data }));
  return await inspectPackage(sourceOf(name, tarGzOf(entries)));
}

export function lint(packages: readonly PackageReport[], job: Job = {}) {
  const {
    machines = ONE_GPU,
    isTpuJob = false,
    pythonVersion = '3.10',
    disabledChecks = [],
    module = 'trainer.task',
    imagePackages = null,
    reachesInternet,
  } = job;
  return lintPackages({
    packages,
    program: { module },
    machines,
    isTpuJob,
    pythonVersion,
    imagePackages,
    reachesInternet,
    disabledChecks: new Set(disabledChecks),
  });
}

/** The findings as `ERROR CODE` and `WARNING CODE`. */
export async function verdictOf(files: Files, job: Job = {}): Promise<string[]> {
  const { problems, warnings } = lint([await reportOf(files)], job);
  return [...problems.map(({ code }) => `ERROR ${code}`), ...warnings.map(({ code }) => `WARNING ${code}`)];
}

/** A setup.py with these requirements. */
export function setupOf(...requirements: readonly string[]): Files {
  const list = requirements.map((requirement) => `'${requirement}'`).join(', ');
  return { 'setup.py': `setup(name='trainer', packages=['trainer'], install_requires=[${list}])` };
}
