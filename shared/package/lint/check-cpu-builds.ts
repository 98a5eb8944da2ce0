import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import type { Requirement } from '#shared/package/lint/requirement.ts';
import { FRAMEWORKS, OTHER_GPU_LIBRARIES } from '#shared/package/scan/python-signs.ts';

type Framework = 'TensorFlow' | 'PyTorch' | 'JAX';

/** The module names that a framework answers for: with it they are on the CPU. */
const OWN_MODULES: Readonly<Record<Framework, readonly string[]>> = {
  TensorFlow: ['tensorflow', 'keras'],
  PyTorch: ['torch'],
  JAX: ['jax', 'flax'],
};

/** Distributions that give the same modules with GPU support: beside one, it is open which of the two will win. */
const GPU_RIVALS: Readonly<Record<Framework, readonly string[]>> = {
  TensorFlow: ['tensorflow', 'tensorflow-gpu', 'tf-nightly'],
  PyTorch: [],
  JAX: [],
};

const REMEDIES: Readonly<Record<Framework, string>> = {
  TensorFlow: 'Ask for tensorflow, or for nothing where the machine image has it.',
  PyTorch: 'Ask for torch without +cpu, or for nothing where the machine image has it.',
  JAX: 'Ask for jax[cuda12], or for nothing where the machine image has it.',
};

type Pin = { readonly framework: Framework; readonly what: string; readonly isSure: boolean; readonly path?: string };

/**
 * CPU_ONLY_BUILD. Fires where a machine has GPUs and the job would install a framework without GPU support:
 * - sure, an error: metadata asks for `tensorflow-cpu`, for `torch==…+cpu` or for an address of PyTorch's CPU index, or a
 *   package of the job is such a wheel, and every source was seen;
 * - likely, a warning: `jax[cpu]`, a requirements file that the build reads, a `+cpu` wheel inside the archive, a marker
 *   that cannot be evaluated, a build with GPU support beside it.
 * Does not fire where the package imports or asks for another library that may use the GPUs: `tensorflow-cpu` beside JAX
 * or PyTorch is done on purpose, to read data. (PyTorch's `+cpu` builds: pytorch.org, "Get started".)
 */
export function checkCpuOnlyBuild(subject: AdviceSubject): Advice[] {
  const pins = subject.gpuCount === 0 || subject.isTpuJob ? [] : findPins(subject);
  const frameworks = new Set(pins.map(({ framework }) => framework));
  const own = new Set([...frameworks].flatMap((framework) => OWN_MODULES[framework]));
  const asked = subject.requirements.map(({ name }) => name);
  const others = [...subject.imports, ...asked].filter((name) => isGpuUser(name) && !own.has(name));
  if (others.length > 0) {
    return [];
  }
  return [...frameworks].flatMap((framework) => {
    const found = pins.filter((pin) => pin.framework === framework);
    const [pin] = [...found.filter(({ isSure }) => isSure), ...found];
    const hasRival = asked.some((name) => GPU_RIVALS[framework].includes(name));
    return pin === undefined || (framework === 'JAX' && asksForCuda(subject))
      ? []
      : [adviceOf(pin, pin.isSure && subject.isWholeProgram && !hasRival)];
  });
}

function adviceOf({ framework, what, path }: Pin, isSure: boolean): Advice {
  return {
    code: 'CPU_ONLY_BUILD',
    severity: isSure ? 'ERROR' : 'WARNING',
    message: `The machines have GPUs, and ${what} is ${framework} without GPU support.`,
    remedy: `${REMEDIES[framework]} Or leave the accelerators out of the job.`,
    ...(path === undefined ? {} : { path }),
  };
}

function findPins({ requirements, packages }: AdviceSubject): Pin[] {
  const asked = requirements.flatMap((requirement): Pin[] => {
    const framework = frameworkOf(requirement);
    const { shown, path, isSure } = requirement;
    const pin = { what: `"${shown}"`, isSure: isSure && framework !== 'JAX', ...(path === null ? {} : { path }) };
    return framework === null ? [] : [{ ...pin, framework }];
  });
  return [...asked, ...packages.flatMap(findPinsOfFiles)];
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
    ...(isCpuWheel ? [{ framework: 'PyTorch' as const, what: `the wheel of torch ${version}`, isSure: true }] : []),
    ...indexes.map(({ path }) => {
      return { framework: 'PyTorch' as const, what: `what the index in ${path} gives`, isSure: false, path };
    }),
    ...(wheel === undefined ? [] : [{ framework: 'PyTorch' as const, what: wheel, isSure: false, path: wheel }]),
  ];
}

/** PyTorch's index of CPU builds, as pip's options in a requirements file name it. */
const CPU_INDEX = /^[ \t]*(?:-i|-f|--(?:extra-)?index-url|--find-links)[= \t]+\S*pytorch\.org\/whl\/(?:cpu\b|\S*cpu)/;

/** Options with an address are no longer, and the pattern takes more than the square of a line's length. */
const LINE_CHARACTERS_MAX = 500;

function namesCpuIndex(line: string): boolean {
  return CPU_INDEX.test(line.slice(0, LINE_CHARACTERS_MAX));
}

function isGpuUser(name: string): boolean {
  return FRAMEWORKS.has(name) || OTHER_GPU_LIBRARIES.has(name) || name.startsWith('cupy-');
}

/** CUDA comes to JAX as a plug-in beside the CPU build: to ask for both is right. */
function asksForCuda({ requirements }: AdviceSubject): boolean {
  return requirements.some(({ name, extras }) => {
    return name.startsWith('jax-cuda') || (name === 'jax' && extras.some((extra) => extra.startsWith('cuda')));
  });
}
