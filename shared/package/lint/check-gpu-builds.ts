import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import type { Requirement } from '#shared/package/lint/requirement.ts';
import { satisfies } from '#shared/package/metadata/version-specifier.ts';
import { GPU_ONLY } from '#shared/python/python-packages.ts';

/** Distributions that require a GPU, with the CUDA version in the name; excludes `nvidia-ml-py`, which only queries GPUs. */
const CUDA_IN_NAME =
  /^(?:cupy-cuda\d+x?|(?:cudf|cuml|cugraph|faiss-gpu|nvidia-[a-z-]+)-cu(?:da)?\d+|jax-cuda\d+-(?:plugin|pjrt))$/;

/**
 * GPU_BUILD_WITHOUT_GPU: warning if no machine has a GPU and the package requires a build that needs one: a
 * distribution of GPU_ONLY or CUDA_IN_NAME, `torch==…+cu121` or a URL of such a build, `jax[cuda12]`,
 * `tensorflow[and-cuda]`. A plain `torch` or `tensorflow` is not reported.
 */
export function checkGpuBuilds({ requirements, gpuCount }: LintSubject): LintFinding[] {
  const found = gpuCount > 0 ? [] : requirements.filter(needsGpu);
  const [first] = found;
  if (first === undefined) {
    return [];
  }
  const names = [...new Set(found.map(({ shown }) => `"${shown}"`))].slice(0, SHOWN_COUNT_MAX).join(', ');
  return [
    {
      code: 'GPU_BUILD_WITHOUT_GPU',
      severity: 'WARNING',
      message: `No machine of the job has a GPU, but the package requires ${names}.`,
      remedy: 'Add GPUs to the machines, or require the build without CUDA.',
      path: first.path,
    },
  ];
}

const SHOWN_COUNT_MAX = 3;

/** Whether a requirement is a build that needs a GPU. */
export function needsGpu({ name, extras, specifier, url }: Requirement): boolean {
  if (name === 'torch' || name === 'jaxlib') {
    return /\+(?:cu|cuda)\d/.test(specifier) || /(?:\/whl\/|\+|%2b)(?:cu|cuda)\d/i.test(url);
  }
  return (
    GPU_ONLY.has(name) ||
    CUDA_IN_NAME.test(name) ||
    extras.some((extra) => /^(?:cuda\d*(?:-local|-pip)?|and-cuda)$/.test(extra))
  );
}

/**
 * Minor releases of tensorflow-gpu that pip cannot install: 2.12.0 is a stub that fails, and there are no later ones.
 */
const REMOVED_MINORS: readonly number[] = Array.from({ length: 20 }, (_, index) => 12 + index);

/**
 * TENSORFLOW_GPU_PACKAGE: warning if the package requires `tensorflow-gpu`
 * - together with `tensorflow`, because both install the same modules; or
 * - in version 2.12 or later, or without an upper bound: pip selects 2.12.0, a stub whose installation fails, because
 *   `tensorflow` has included GPU support since 2.1 (PyPI, "tensorflow-gpu").
 * An older version on its own is not reported: it is still available.
 */
export function checkTensorflowGpu({ requirements }: LintSubject): LintFinding[] {
  const gpu = requirements.find(({ name }) => name === 'tensorflow-gpu');
  const plain = requirements.find(({ name }) => name === 'tensorflow');
  if (gpu === undefined) {
    return [];
  }
  const isRemoved = gpu.url === '' && REMOVED_MINORS.some((minor) => satisfies([2, minor, 0], gpu.specifier) === true);
  const both = plain === undefined ? null : `The package requires both "${gpu.shown}" and "${plain.shown}"`;
  const message =
    both !== null
      ? `${both}, which overwrite each other's modules.`
      : `The package requires "${gpu.shown}", but tensorflow-gpu 2.12.0 is a stub that pip cannot install.`;
  return both === null && !isRemoved
    ? []
    : [
        {
          code: 'TENSORFLOW_GPU_PACKAGE',
          severity: 'WARNING',
          message,
          remedy: 'Require only tensorflow, which has included GPU support since 2.1.',
          path: gpu.path,
        },
      ];
}
