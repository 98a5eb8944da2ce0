import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import type { Requirement } from '#shared/package/lint/requirement.ts';
import { FRAMEWORKS, OTHER_GPU_LIBRARIES } from '#shared/python/python-packages.ts';

type Framework = 'TensorFlow' | 'PyTorch' | 'JAX';

/** Modules of a framework, which run on the CPU with a CPU-only build. */
const OWN_MODULES: Readonly<Record<Framework, readonly string[]>> = {
  TensorFlow: ['tensorflow', 'keras'],
  PyTorch: ['torch'],
  JAX: ['jax', 'flax'],
};

/** Distributions that provide the same modules with GPU support; if both are required, either may be used. */
const GPU_ALTERNATIVES: Readonly<Record<Framework, readonly string[]>> = {
  TensorFlow: ['tensorflow', 'tensorflow-gpu', 'tf-nightly'],
  PyTorch: [],
  JAX: [],
};

const REMEDIES: Readonly<Record<Framework, string>> = {
  TensorFlow: 'Require tensorflow, or nothing if the machine image has it.',
  PyTorch: 'Require torch without +cpu, or nothing if the machine image has it.',
  JAX: 'Require jax[cuda12], or nothing if the machine image has it.',
};

type Pin = {
  readonly framework: Framework;
  readonly what: string;
  readonly isCertain: boolean;
  readonly path?: string | undefined;
};

/**
 * CPU_ONLY_BUILD: a machine has GPUs, and the job would install a framework without GPU support.
 * - Error if certain: the metadata requires `tensorflow-cpu`, `torch==…+cpu` or a URL of PyTorch's CPU index, or a
 *   package of the job is such a wheel, and every source was scanned.
 * - Warning if likely: `jax[cpu]`, a requirements file that the build reads, a `+cpu` wheel inside the archive, a
 *   marker that cannot be evaluated, or an additional build with GPU support.
 * Not reported if the package imports or requires another library that may use the GPUs: `tensorflow-cpu` with JAX or
 * PyTorch is intentional, to read data. (PyTorch's `+cpu` builds: pytorch.org, "Get started".)
 */
export function checkCpuOnlyBuild(subject: LintSubject): LintFinding[] {
  const pins = subject.gpuCount === 0 || subject.isTpuJob ? [] : findPins(subject);
  const frameworks = new Set(pins.map(({ framework }) => framework));
  const own = new Set([...frameworks].flatMap((framework) => OWN_MODULES[framework]));
  const required = subject.requirements.map(({ name }) => name);
  const others = [...subject.imports, ...required].filter((name) => isGpuUser(name) && !own.has(name));
  if (others.length > 0) {
    return [];
  }
  return [...frameworks].flatMap((framework) => {
    const found = pins.filter((pin) => pin.framework === framework);
    const [pin] = [...found.filter(({ isCertain }) => isCertain), ...found];
    const hasAlternative = required.some((name) => GPU_ALTERNATIVES[framework].includes(name));
    return pin === undefined || (framework === 'JAX' && requiresCuda(subject))
      ? []
      : [findingOf(pin, pin.isCertain && subject.isWholeProgram && !hasAlternative)];
  });
}

function findingOf({ framework, what, path }: Pin, isCertain: boolean): LintFinding {
  return {
    code: 'CPU_ONLY_BUILD',
    severity: isCertain ? 'ERROR' : 'WARNING',
    message: `The machines have GPUs, but ${what} is ${framework} without GPU support.`,
    remedy: `${REMEDIES[framework]} Or remove the accelerators from the job.`,
    path,
  };
}

function findPins({ requirements, packages }: LintSubject): Pin[] {
  const required = requirements.flatMap((requirement): Pin[] => {
    const framework = frameworkOf(requirement);
    const { shown, path, isCertain } = requirement;
    const pin = { what: `"${shown}"`, isCertain: isCertain && framework !== 'JAX', path };
    return framework === null ? [] : [{ ...pin, framework }];
  });
  return [...required, ...packages.flatMap(findPinsOfFiles)];
}

function frameworkOf({ name, extras, specifier, url }: Requirement): Framework | null {
  if (name === 'tensorflow-cpu' || name === 'tf-nightly-cpu') {
    return 'TensorFlow';
  }
  if (name === 'torch' && (/\+cpu\b/.test(specifier) || /\/whl\/cpu\/|(?:\+|%2b)cpu\b/i.test(url))) {
    return 'PyTorch';
  }
  return name === 'jax' && extras.includes('cpu') ? 'JAX' : null;
}

function findPinsOfFiles({ name, version, wheelTags, evidence }: PackageReport): Pin[] {
  const isCpuWheel = wheelTags.length > 0 && name === 'torch' && version?.endsWith('+cpu') === true;
  const indexes = evidence.requirementFiles.filter(({ text }) => text.split('\n').some(namesCpuIndex));
  const wheel = evidence.cpuWheels.find((path) => /(?:^|\/)torch-/.test(path));
  return [
    ...(isCpuWheel ? [{ framework: 'PyTorch' as const, what: `the wheel of torch ${version}`, isCertain: true }] : []),
    ...indexes.map(({ path }) => {
      return { framework: 'PyTorch' as const, what: `the build from the index in ${path}`, isCertain: false, path };
    }),
    ...(wheel === undefined ? [] : [{ framework: 'PyTorch' as const, what: wheel, isCertain: false, path: wheel }]),
  ];
}

/** PyTorch's index of CPU builds in pip options of a requirements file. */
const CPU_INDEX = /^[ \t]*(?:-i|-f|--(?:extra-)?index-url|--find-links)[= \t]+\S*pytorch\.org\/whl\/(?:cpu\b|\S*cpu)/;

/** Options with a URL are shorter; the pattern takes more than quadratic time in the length of the line. */
const LINE_CHARACTERS_MAX = 500;

function namesCpuIndex(line: string): boolean {
  return CPU_INDEX.test(line.slice(0, LINE_CHARACTERS_MAX));
}

function isGpuUser(name: string): boolean {
  return FRAMEWORKS.has(name) || OTHER_GPU_LIBRARIES.has(name) || name.startsWith('cupy-');
}

/** JAX's CUDA support is a plug-in of the CPU build, so requiring both is correct. */
function requiresCuda({ requirements }: LintSubject): boolean {
  return requirements.some(({ name, extras }) => {
    return name.startsWith('jax-cuda') || (name === 'jax' && extras.some((extra) => extra.startsWith('cuda')));
  });
}
