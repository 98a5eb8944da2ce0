import type { Problem } from '#shared/protocol/problem.ts';

/** The lint checks of packages, which can be disabled by code, with descriptions. */
export const PACKAGE_CHECKS = {
  CPU_ONLY_BUILD: 'Machines have GPUs, but the package requires a build of its framework that cannot use them.',
  GPU_BUILD_WITHOUT_GPU: 'The package requires a library that needs a GPU, but no machine has one.',
  TENSORFLOW_GPU_PACKAGE:
    'The package requires tensorflow-gpu, which pip cannot install or which conflicts with tensorflow.',
  PYTHON_LIMIT: 'The package cannot be installed with the Python version of the machine image.',
  NO_DISTRIBUTION_STRATEGY: 'There are several GPUs or machines, but nothing in the sources uses more than one.',
  STRATEGY_MISFIT: 'The distribution strategy in the sources does not match the machines of the job.',
  CREDENTIALS_IN_PACKAGE: 'A file of the package contains a private key, a token or a password.',
  PYTHON_2_ONLY: 'setup.py or the module to run is written for Python 2.',
  TENSORFLOW_1: 'The sources use parts of TensorFlow 1 that TensorFlow 2 does not have.',
  PATH_FROM_SCRIPT: 'The program names files that exist from its own folder, and starts in another one.',
  MISSING_MODULE: 'The program imports a module that nothing brings.',
  NOT_IN_IMAGE: 'The machine image lacks a requirement, and VMs reach no package index outside of Google.',
  GPU_NOT_USED: 'Machines have GPUs, but the sources import only libraries that do not use them.',
  GPU_ADVISED: 'The sources train a deep network, and no machine has a GPU.',
  BROKEN_REQUIREMENT: 'pip cannot install a requirement as written.',
} as const satisfies Readonly<Record<string, string>>;

/** The checks to skip for containers, in which nothing is installed: the image has its own Python and frameworks. */
export const CHECKS_OF_INSTALLING: ReadonlySet<string> = new Set(
  Object.keys(PACKAGE_CHECKS).filter((code) => code !== 'CREDENTIALS_IN_PACKAGE'),
);

export type PackageCheckCode = keyof typeof PACKAGE_CHECKS;

export function isPackageCheck(name: string): name is PackageCheckCode {
  return Object.hasOwn(PACKAGE_CHECKS, name);
}

/**
 * A finding of a lint check: an error if the job would certainly fail or waste its GPUs, a warning if that is likely, a
 * hint if the job is valid and another one may be better.
 */
export type LintFinding = {
  readonly code: PackageCheckCode;
  readonly severity: 'ERROR' | 'WARNING' | 'HINT';
  readonly message: string;
  readonly remedy: string;
  /** The entry of the archive. */
  readonly path?: string | undefined;
  readonly line?: number | undefined;
};

/** The problem reported to users; its remedy includes how to disable the check. */
export function problemOf({ code, message, remedy, path, line }: LintFinding): Problem {
  // Works for every way to submit; `jobs validate` also has a flag.
  const opt = `If this is intended, set ignore = ["${code}"] under [tool.dropforge] in the package's pyproject.toml.`;
  return {
    code,
    message,
    remedy: `${remedy} ${opt}`,
    ...(path === undefined ? {} : { path }),
    ...(line === undefined ? {} : { line }),
  };
}
