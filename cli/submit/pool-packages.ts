import { resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { archiveOf, type PackageSource } from '#cli/submit/package-source.ts';
import { joinList, readPairs } from '#shared/job-file/flags/flag-values.ts';
import { readWorkerPools, splitItems } from '#shared/job-file/flags/worker-pool-flags.ts';

type PoolPackages = {
  readonly packages: readonly PackageSource[];
  /** The flags with the URIs of the packages in place of local files. */
  readonly write: (uriOf: (source: PackageSource) => string) => readonly string[];
};

/** Finds the packages that values of `--worker-pool-spec` name. Throws InvalidFlagError for an invalid pool. */
export function readPoolPackages(texts: readonly string[], cwd: string): PoolPackages {
  readWorkerPools(texts);
  const shared = new Map<string, PackageSource>();
  const pools = texts.map((text, index) => {
    const keys = readPairs('worker-pool-spec', text);
    const sources = readPackages(keys, { cwd, flag: `--worker-pool-spec[${index}]` });
    return { keys, sources: sources.map((source) => shareSource(source, shared)) };
  });
  return {
    packages: pools.flatMap(({ sources }) => sources),
    write: (uriOf) =>
      pools.map(({ keys: { requirements: _, ...keys }, sources }) => {
        const [local, ...extra] = sources.map(uriOf);
        const written = {
          ...keys,
          ...(local !== undefined && { 'local-package-path': local }),
          ...(extra.length > 0 && { 'extra-packages': extra.join(';') }),
        };
        return joinList(Object.entries(written).map(([key, value]) => `${key}=${value}`));
      }),
  };
}

function readPackages(
  keys: Readonly<Record<string, string>>,
  { cwd, flag }: { readonly cwd: string; readonly flag: string },
): readonly PackageSource[] {
  const path = keys['local-package-path'];
  if (path === undefined) {
    return [];
  }
  const requirements = splitItems(keys.requirements).map((item) => item.trim());
  return [
    // A job that was submitted before has its package in a bucket.
    isGsUri(path)
      ? { kind: 'OBJECT', uri: path }
      : { kind: 'WORKING_DIRECTORY', path: resolve(cwd, path), requirements },
    ...splitItems(keys['extra-packages']).map((extra) => archiveOf(extra, { cwd, flag: `${flag}: extra-packages` })),
  ];
}

/** Pools that name the same package share it, so that it is built and uploaded once. */
function shareSource(source: PackageSource, shared: Map<string, PackageSource>): PackageSource {
  const key = JSON.stringify({ ...source, flag: null });
  const first = shared.get(key) ?? source;
  shared.set(key, first);
  return first;
}
