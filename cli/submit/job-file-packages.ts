import { resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { type JobRequest, validateRequest, writeJob } from '#cli/submit/job-request.ts';
import { dryRunUri, type PackageSource } from '#cli/submit/package-source.ts';
import { isFile } from '#cli/submit/source-files.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';

/**
 * Adds the packages that the job file references by a path relative to itself, so that they are uploaded like
 * those of `--packages`. Paths without a file there remain references to objects in the folder of the uploaded job file.
 */
export async function withJobFilePackages(request: JobRequest): Promise<JobRequest> {
  const { folder } = request.file;
  if (folder === null) {
    return request;
  }
  const found: PackageSource[] = [];
  for (const reference of listRelativePackages(request)) {
    const path = resolve(folder, reference);
    if (await isFile(path)) {
      found.push({ kind: 'ARCHIVE', path, flag: 'the packages in the job file', reference });
    }
  }
  return found.length === 0 ? request : addPackages(request, found);
}

/** The file is validated with the names that its packages have in a bucket, which no path leads out of. */
function addPackages(request: JobRequest, found: readonly PackageSource[]): JobRequest {
  const { packages, rename } = request;
  const changed = { ...request, packages: [...packages, ...found] };
  const { jobFile, fileName } = writeJob(changed, dryRunUri);
  return {
    ...changed,
    file: { ...request.file, reading: readJobFile(jobFile ?? '', { fileName }) },
    ...(rename !== undefined && { rename: (suffix) => addPackages(rename(suffix), found) }),
  };
}

/** Relative packages of the file that no flag replaces. */
function listRelativePackages(request: JobRequest): readonly string[] {
  const uris = validateRequest(request).draft?.pools.flatMap(({ program }) => program.packageUris ?? []) ?? [];
  // Packages of flags have no line in the file.
  const values = uris.filter(({ line, value }) => line !== undefined && !isGsUri(value)).map(({ value }) => value);
  return [...new Set(values)];
}
