import { basename, resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { splitList } from '#cli/submit/flag-values.ts';

/**
 * A package given on the command line: the folder of a Python package to build, a working directory that contains one
 * (Vertex AI's autopackaging), a local archive, or an object.
 */
export type PackageSource =
  | { readonly kind: 'FOLDER'; readonly path: string }
  | WorkingDirectory
  | { readonly kind: 'ARCHIVE'; readonly path: string; readonly flag: string }
  | { readonly kind: 'OBJECT'; readonly uri: string };

export type WorkingDirectory = {
  readonly kind: 'WORKING_DIRECTORY';
  readonly path: string;
  /** The module to run, relative to the working directory: `trainer.task`. */
  readonly module: string;
  /** Additional requirements, in pip's syntax: `numpy>=2`. */
  readonly requirements: readonly string[];
};

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
