export type PackageLock = { readonly packages: Record<string, { engines?: { readonly node?: string } }> };

/** The oldest Node.js with which `npm ci` is run: package.json has it as `engines`. */
export const INSTALLING_NODE = '20.0.0';

/**
 * Removes what packages say about Node.js if the one that runs `npm ci` may not satisfy it: npm would warn about each of
 * them in five lines, and the code runs with the project's own Node.js, whatever the machine has.
 */
export function withoutUnmetEngines(lock: PackageLock): PackageLock {
  const packages = Object.entries(lock.packages).map(([path, entry]) => {
    const { engines, ...others } = entry;
    return [path, path === '' || accepts(engines?.node, INSTALLING_NODE) ? entry : others] as const;
  });
  return { ...lock, packages: Object.fromEntries(packages) };
}

/** Whether a range of npm contains the version. Knows the ranges that packages have for Node.js; throws for others. */
export function accepts(range: string | undefined, version: string): boolean {
  return (range ?? '*').split('||').some((alternative) => {
    const comparators = alternative
      .trim()
      .replaceAll(/([<>=^~]) +/g, '$1')
      .split(/\s+/);
    return comparators.every((comparator) => satisfies(comparator, partsOf(version)));
  });
}

function satisfies(comparator: string, version: readonly number[]): boolean {
  const [, operator = '', bound = ''] = /^(>=|<=|<|>|\^|~|=?)v?(\d+(?:\.\d+)*|\*)(?:\.[*x])*$/.exec(comparator) ?? [];
  if (bound === '') {
    throw new RangeError(`${comparator} is not a known range of versions.`);
  }
  const parts = bound === '*' ? [] : partsOf(bound);
  const order = compare(version, parts);
  const isSame = parts.every((part, index) => version[index] === part);
  const results: Readonly<Record<string, boolean>> = {
    '>=': order >= 0,
    '>': order > 0 && !isSame,
    '<=': order < 0 || isSame,
    '<': order < 0,
    '^': order >= 0 && version[0] === parts[0],
    '~': order >= 0 && parts.slice(0, 2).every((part, index) => version[index] === part),
  };
  return results[operator] ?? isSame;
}

const partsOf = (version: string) => version.split('.').map(Number);

function compare(a: readonly number[], b: readonly number[]): number {
  const index = [0, 1, 2].findIndex((at) => (a[at] ?? 0) !== (b[at] ?? 0));
  return (a[index] ?? 0) - (b[index] ?? 0);
}
