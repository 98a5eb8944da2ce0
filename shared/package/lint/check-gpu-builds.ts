import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import type { Requirement } from '#shared/package/lint/requirement.ts';
import { satisfies } from '#shared/package/lint/version-specifier.ts';

/** Distributions of which nothing runs without an NVIDIA GPU or its driver. */
const GPU_ONLY: ReadonlySet<string> = new Set([
  'bitsandbytes',
  'cupy',
  'flash-attn',
  'onnxruntime-gpu',
  'pycuda',
  'tensorflow-gpu',
  'tensorrt',
]);

/** The same with CUDA's version in the name. `nvidia-ml-py`, which only asks for GPUs, has none. */
const CUDA_IN_NAME =
  /^(?:cupy-cuda\d+x?|(?:cudf|cuml|cugraph|faiss-gpu|nvidia-[a-z-]+)-cu(?:da)?\d+|jax-cuda\d+-(?:plugin|pjrt))$/;

/**
 * GPU_BUILD_WITHOUT_GPU. A warning where no machine has a GPU and the package asks for what only runs on one: the
 * distributions of GPU_ONLY and CUDA_IN_NAME, `torch==…+cu121` or an address that says so, `jax[cuda12]`, `tensorflow[and-cuda]`. A plain
 * `torch` or `tensorflow` is none of these.
 */
export function checkGpuBuilds({ requirements, gpuCount }: AdviceSubject): Advice[] {
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
      message: `No machine of the job has a GPU, and the package asks for ${names}.`,
      remedy: 'Give the machines an acceleratorConfig, or ask for the build without CUDA.',
      ...(first.path === null ? {} : { path: first.path }),
    },
  ];
}

const SHOWN_COUNT_MAX = 3;

function needsGpu({ name, extras, specifier, url }: Requirement): boolean {
  if (name === 'torch' || name === 'jaxlib') {
    return /\+(?:cu|cuda)\d/.test(specifier) || /(?:\/whl\/|\+|%2b)(?:cu|cuda)\d/i.test(url);
  }
  return (
    GPU_ONLY.has(name) ||
    CUDA_IN_NAME.test(name) ||
    extras.some((extra) => /^(?:cuda\d*(?:-local|-pip)?|and-cuda)$/.test(extra))
  );
}

/** The releases of tensorflow-gpu that pip cannot install; 2.12.0 is a stub that fails, and there is none after it. */
const REMOVED_MINORS: readonly number[] = Array.from({ length: 20 }, (_, index) => 12 + index);

/**
 * TENSORFLOW_GPU_PACKAGE. A warning where the package asks for `tensorflow-gpu`
 * - together with `tensorflow`: both install the same modules over one another;
 * - in a version from 2.12 on, or without a bound: 2.12.0, which pip takes, is a stub whose installation ends with an
 *   error, since `tensorflow` has the same GPU support from 2.1 on (PyPI, "tensorflow-gpu").
 * An older version by itself is left alone: those are still on the index.
 */
export function checkTensorflowGpu({ requirements }: AdviceSubject): Advice[] {
  const gpu = requirements.find(({ name }) => name === 'tensorflow-gpu');
  const plain = requirements.find(({ name }) => name === 'tensorflow');
  if (gpu === undefined) {
    return [];
  }
  const isRemoved = gpu.url === '' && REMOVED_MINORS.some((minor) => satisfies([2, minor, 0], gpu.specifier) === true);
  const both = plain === undefined ? null : `The package asks for both "${gpu.shown}" and "${plain.shown}"`;
  const message =
    both !== null
      ? `${both}, which install the same modules over one another.`
      : `The package asks for "${gpu.shown}", and tensorflow-gpu 2.12.0 is a stub that pip cannot install.`;
  return both === null && !isRemoved
    ? []
    : [
        {
          code: 'TENSORFLOW_GPU_PACKAGE',
          severity: 'WARNING',
          message,
          remedy: 'Ask for tensorflow alone: from 2.1 on it uses GPUs by itself.',
          ...(gpu.path === null ? {} : { path: gpu.path }),
        },
      ];
}
