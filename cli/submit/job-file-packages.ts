import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import type { Invocation } from '#cli/core/command.ts';
import type { JobRequest } from '#cli/submit/job-request.ts';
import { dryRunUri, type PackageSource } from '#cli/submit/package-source.ts';
import type { JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';

/** Packages of the `--config` file by their relative paths in it. */
type FilePackages = ReadonlyMap<string, PackageSource>;

/**
 * Adds the packages that the `--config` file references by a path relative to itself, so that they are uploaded like
 * those of `--packages`. Paths without a file there remain references to objects in the folder of the uploaded job file.
 */
export async function withJobFilePackages({ flag, io }: Invocation, request: JobRequest): Promise<JobRequest> {
  const config = flag('config');
  if (config === undefined || request.file.draft === null) {
    return request;
  }
  const folder = dirname(resolve(io.cwd, config));
  const found = new Map<string, PackageSource>();
  for (const value of listRelativePackages(request, request.file.draft)) {
    const path = resolve(folder, value);
    if (await isFile(path)) {
      found.set(value, { kind: 'ARCHIVE', path, flag: 'the packages in the --config file' });
    }
  }
  return found.size === 0 ? request : addPackages(request, found);
}

function addPackages(request: JobRequest, found: FilePackages): JobRequest {
  const { applyFlags, rename } = request;
  return {
    ...request,
    packages: [...request.packages, ...found.values()],
    applyFlags: (draft, uriOf) => applyFlags(replacePackages(draft, found, uriOf), uriOf),
    ...(rename !== undefined && { rename: (suffix) => addPackages(rename(suffix), found) }),
  };
}

/** Relative packages of the file that no flag replaces. */
function listRelativePackages({ applyFlags }: JobRequest, draft: JobDraft): readonly string[] {
  const uris = applyFlags(draft, dryRunUri).pools.flatMap(({ program }) => program.packageUris ?? []);
  const values = uris.filter(({ path, value }) => !path.startsWith('--') && !isGsUri(value)).map(({ value }) => value);
  return [...new Set(values)];
}

function replacePackages(draft: JobDraft, found: FilePackages, uriOf: (source: PackageSource) => string): JobDraft {
  const replace = (pool: PoolDraft): PoolDraft => {
    const packageUris = pool.program.packageUris?.map((uri) => {
      const source = found.get(uri.value);
      return source === undefined ? uri : { ...uri, value: uriOf(source) };
    });
    return packageUris === undefined ? pool : { ...pool, program: { ...pool.program, packageUris } };
  };
  return { ...draft, pools: draft.pools.map(replace) };
}

/** Whether the path is a file; false if it cannot be read. */
function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
