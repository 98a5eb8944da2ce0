import data from './python-packages.json' with { type: 'json' };

const listOf = (text: string) => text.split(' ').filter((name) => name !== '');

const STANDARD: ReadonlySet<string> = new Set(listOf(data.standardLibrary));
const PYTHON_2: ReadonlySet<string> = new Set(listOf(data.python2));
const REMOVED = Object.entries(data.removedIn).map(([version, names]) => ({ version, names: new Set(listOf(names)) }));
const REMOVED_NAMES: ReadonlySet<string> = new Set(REMOVED.flatMap(({ names }) => [...names]));

/** Modules whose distributions never use a GPU, and those that train models of tables. */
export const MODULES_WITHOUT_GPU: ReadonlySet<string> = new Set(listOf(data.notOnGpus));
export const TABULAR_MODULES: ReadonlySet<string> = new Set(listOf(data.tabular));

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

/** The preferred distributions of modules that several have. */
const PREFERRED: ReadonlyMap<string, string> = new Map([
  ['cv2', 'opencv-python-headless'],
  ['tensorflow', 'tensorflow'],
  ['keras', 'keras'],
  ['pytorch_lightning', 'pytorch-lightning'],
  ['Levenshtein', 'levenshtein'],
  ['mlflow', 'mlflow'],
]);

export const KNOWN_DISTRIBUTIONS: readonly string[] = [...DISTRIBUTIONS.keys()];

/** The distribution with a module, `scikit-learn` for `sklearn`; undefined if it is unknown. */
export function distributionOf(module: string): string | undefined {
  const has = ([, { modules }]: [string, Distribution]) => modules.includes(module);
  return PREFERRED.get(module) ?? [...DISTRIBUTIONS].find(has)?.[0];
}

/**
 * The modules that distributions bring, with what any of their versions requires; null if one of them is unknown and
 * may bring anything.
 */
export function modulesOf(distributions: Iterable<string>): ReadonlySet<string> | null {
  const pending = [...distributions];
  const done = new Set<string>();
  const modules = new Set<string>();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const distribution = DISTRIBUTIONS.get(name);
    if (distribution === undefined) {
      return null;
    }
    if (!done.has(name)) {
      done.add(name);
      for (const module of distribution.modules) {
        modules.add(module);
      }
      pending.push(...distribution.requires);
    }
  }
  return modules;
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
  const removed = REMOVED_NAMES.has(module) ? REMOVED.find(({ names }) => names.has(module)) : undefined;
  return removed !== undefined && Number(removed.version.split('.')[1]) <= minor ? removed.version : null;
}
