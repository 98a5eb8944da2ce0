import { basename, resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { splitList } from '#shared/job-file/flags/flag-values.ts';

/**
 * A package given on the command line: the folder or file of a Python program, a working directory that contains one
 * (Vertex AI's autopackaging), a local archive, or an object.
 */
export type PackageSource =
  | { readonly kind: 'FOLDER'; readonly path: string }
  /** The requirements are additional ones, in pip's syntax: `numpy>=2`. */
  | { readonly kind: 'WORKING_DIRECTORY'; readonly path: string; readonly requirements: readonly string[] }
  /** `reference`: the name by which the job file refers to it. */
  | { readonly kind: 'ARCHIVE'; readonly path: string; readonly flag: string; readonly reference?: string }
  | { readonly kind: 'OBJECT'; readonly uri: string };

/** Parses a comma-separated list of local archives and URIs, such as `--packages`. */
export function readArchives(list: string | undefined, from: { readonly cwd: string; readonly flag: string }) {
  return splitList(list ?? '')
    .filter((path) => path !== '')
    .map((path) => archiveOf(path, from));
}

export function archiveOf(path: string, { cwd, flag }: { readonly cwd: string; readonly flag: string }): PackageSource {
  return isGsUri(path) ? { kind: 'OBJECT', uri: path } : { kind: 'ARCHIVE', path: resolve(cwd, path), flag };
}

/** Returns a package's placeholder URI for a dry run, without building it. */
export function dryRunUri(source: PackageSource): string {
  switch (source.kind) {
    case 'FOLDER':
    case 'WORKING_DIRECTORY':
      return `${basename(source.path)}.tar.gz`;
    case 'ARCHIVE':
      return basename(source.path);
    case 'OBJECT':
      return source.uri;
  }
}
