import { basename, resolve } from 'node:path';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { splitList } from '#cli/submit/flag-values.ts';

/**
 * A package that a command line names: the folder of a Python package that is to be built, a working directory in which
 * there is one (Vertex AI's autopackaging), an archive on this machine, or an object.
 */
export type PackageSource =
  | { readonly kind: 'FOLDER'; readonly path: string }
  | WorkingDirectory
  | { readonly kind: 'ARCHIVE'; readonly path: string; readonly flag: string }
  | { readonly kind: 'OBJECT'; readonly uri: string };

export type WorkingDirectory = {
  readonly kind: 'WORKING_DIRECTORY';
  readonly path: string;
  /** The module to be run, from the working directory: `trainer.task`. */
  readonly module: string;
  /** What its installation needs besides, as pip takes it: `numpy>=2`. */
  readonly requirements: readonly string[];
};

/** Archives and addresses in a list by commas, as `--packages` has them. */
export function readArchives(list: string | undefined, from: { readonly cwd: string; readonly flag: string }) {
  return splitList(list ?? '')
    .filter((path) => path !== '')
    .map((path) => archiveOf(path, from));
}

export function archiveOf(path: string, { cwd, flag }: { readonly cwd: string; readonly flag: string }): PackageSource {
  return isGsUri(path) ? { kind: 'OBJECT', uri: path } : { kind: 'ARCHIVE', path: resolve(cwd, path), flag };
}

/** What a package is called in a job that nobody has uploaded yet; what is to be built is not looked at for that. */
export function nameInDryRun(source: PackageSource): string {
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
