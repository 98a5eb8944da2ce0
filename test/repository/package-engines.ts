import { satisfies } from 'semver';

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

/** Whether a range of npm contains the version; without a range, every version is accepted. */
export function accepts(range: string | undefined, version: string): boolean {
  return satisfies(version, range ?? '*');
}
