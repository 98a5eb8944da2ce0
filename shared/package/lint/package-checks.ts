import type { Problem } from '#shared/protocol/report.ts';

/** Every check of packages that can be silenced, by code, with what it finds. */
export const PACKAGE_CHECKS = {
  CPU_ONLY_BUILD: 'Machines have GPUs and the package asks for a build of its framework that cannot use them.',
  GPU_BUILD_WITHOUT_GPU: 'The package asks for what only runs on a GPU, and no machine has one.',
  TENSORFLOW_GPU_PACKAGE: 'The package asks for tensorflow-gpu, which pip can no longer install or installs twice.',
  PYTHON_LIMIT: 'The package cannot be installed on the Python of the machine image.',
  NO_DISTRIBUTION_STRATEGY: 'There are several GPUs or machines, and nothing in the sources uses more than one.',
  STRATEGY_MISFIT: 'The strategy of distribution in the sources does not fit the machines of the job.',
  CREDENTIALS_IN_PACKAGE: 'A file of the package holds a private key, a token or a password.',
  PYTHON_2_ONLY: 'setup.py or the module to run is written for Python 2.',
  BROKEN_REQUIREMENT: 'pip cannot install a requirement as it is written.',
} as const satisfies Readonly<Record<string, string>>;

export type PackageCheckCode = keyof typeof PACKAGE_CHECKS;

export function isPackageCheck(name: string): name is PackageCheckCode {
  return Object.hasOwn(PACKAGE_CHECKS, name);
}

/** What a check found: an error where the job would fail or waste its GPUs for sure, a warning where that is likely. */
export type Advice = {
  readonly code: PackageCheckCode;
  readonly severity: 'ERROR' | 'WARNING';
  readonly message: string;
  readonly remedy: string;
  /** The entry of the archive. */
  readonly path?: string;
  readonly line?: number;
};

/** The problem that users see; it says how to go on where all is meant as it is. */
export function problemOf({ code, message, remedy, path, line }: Advice): Problem {
  // This holds for every way to submit; `jobs validate` has a flag besides.
  const way = `If it is meant so: ignore = ["${code}"] under [tool.dropforge] in the package's pyproject.toml.`;
  return {
    code,
    message,
    remedy: `${remedy} ${way}`,
    ...(path === undefined ? {} : { path }),
    ...(line === undefined ? {} : { line }),
  };
}
