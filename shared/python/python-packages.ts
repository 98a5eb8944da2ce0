import data from './python-packages.json' with { type: 'json' };

const listOf = (text: string) => text.split(' ').filter((name) => name !== '');
const setOf = (text: string): ReadonlySet<string> => new Set(listOf(text));

const STANDARD = setOf(data.standardLibrary);
const PYTHON_2 = setOf(data.python2);
const REMOVED = Object.entries(data.removedIn).map(([version, names]) => ({ version, names: setOf(names) }));

/** Frameworks that by default use one GPU of one machine. */
export const FRAMEWORKS = setOf(data.frameworks);
/** Libraries that use GPUs without TensorFlow, PyTorch or JAX. */
export const OTHER_GPU_LIBRARIES = setOf(data.otherGpuLibraries);
/** Libraries that distribute training themselves, or launch processes that do. */
export const DISTRIBUTION_LIBRARIES = setOf(data.distributesTraining);
/** Modules whose distributions never use a GPU, and those that train models of tables. */
export const MODULES_WITHOUT_GPU = setOf(data.notOnGpus);
export const TABULAR_MODULES = setOf(data.tabular);
/** Distributions that require an NVIDIA GPU or its driver. */
export const GPU_ONLY = setOf(data.gpuOnlyDistributions);
/** Libraries with modules to run, which machine images have: `torch.distributed.run`, `accelerate.commands.launch`. */
export const LIBRARIES_TO_RUN = setOf(data.modulesToRun);
/** Python's own modules that run a program. */
export const TOOLS_OF_PYTHON = setOf(data.toolsOfPython);
/** Distributions that programs for training often require. */
export const OFTEN_REQUIRED = listOf(data.oftenRequired);

/** The first version of a distribution with a wheel, by the distribution and the Python version. */
export const FIRST_VERSIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = data.firstVersions;

type Distribution = { readonly modules: readonly string[]; readonly requires: readonly string[] };

/** Distributions by normalized name. */
const DISTRIBUTIONS: ReadonlyMap<string, Distribution> = new Map(
  Object.entries(data.distributions).map(([name, text]) => {
    const [modules = '', requires = ''] = text.split('|');
    const named = listOf(modules);
    return [name, { modules: named.length > 0 ? named : [name.replaceAll('-', '_')], requires: listOf(requires) }];
  }),
);

/** The distributions of modules; of those that have the same one, a preferred one, or the first. */
const BY_MODULE: ReadonlyMap<string, string> = new Map(
  [...[...DISTRIBUTIONS.keys()].toReversed(), ...listOf(data.preferred)].flatMap((name) =>
    (DISTRIBUTIONS.get(name)?.modules ?? []).map((module) => [module, name] as const),
  ),
);

/** The distribution with a module, `scikit-learn` for `sklearn`; undefined if it is unknown. */
export function distributionOf(module: string): string | undefined {
  return BY_MODULE.get(module);
}

/** The modules that distributions bring; null if one of them is unknown and may bring anything. */
export function modulesOf(distributions: Iterable<string>): ReadonlySet<string> | null {
  const names = distributionsOf(distributions);
  return names && new Set([...names].flatMap((name) => DISTRIBUTIONS.get(name)?.modules ?? []));
}

/** The distributions with what any of their versions requires; null if one of them is unknown and may require anything. */
export function distributionsOf(distributions: Iterable<string>): ReadonlySet<string> | null {
  const pending = [...distributions];
  const done = new Set<string>();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const distribution = DISTRIBUTIONS.get(name);
    if (distribution === undefined) {
      return null;
    }
    if (!done.has(name)) {
      done.add(name);
      pending.push(...distribution.requires);
    }
  }
  return done;
}

/** Whether Python itself has a top-level module; in an unknown version, if any version of Python 3 has it. */
export function isStandardModule(module: string, pythonVersion: string | null): boolean {
  return STANDARD.has(module) && (pythonVersion === null || removalOf(module, pythonVersion) === null);
}

/** The Python version without a module that earlier ones had, `3.12` for `imp`; null if this version has it. */
export function removalOf(module: string, pythonVersion: string): string | null {
  if (PYTHON_2.has(module)) {
    return '3.0';
  }
  const minor = Number(pythonVersion.split('.')[1]);
  const removed = REMOVED.find(({ names }) => names.has(module));
  return removed !== undefined && Number(removed.version.split('.')[1]) <= minor ? removed.version : null;
}
