/** What `python -m MODULE` or `python SCRIPT` runs, and its file. */
export type PackageProgram = { readonly kind: 'MODULE' | 'SCRIPT'; readonly path: string };

/**
 * How a package is made runnable. Directories and files are relative to the archive; '' is its root. `PROJECT` and
 * `WHEEL` are installed with pip; `SOURCES` and `FILE` (a program, or a requirements file) stay where they are unpacked.
 */
export type PackageLayout = {
  readonly style: 'WHEEL' | 'PROJECT' | 'SOURCES' | 'FILE';
  /** The directory of the project's build file, or the directory from which the sources run. */
  readonly root: string;
  /** Directories from which the package's modules can be imported without an installation, in order. */
  readonly importRoots: readonly string[];
  /** The program to run; null if the package does not contain it. */
  readonly program: PackageProgram | null;
  /** The program's working directory; null if it is a directory without the package's files. */
  readonly workingDirectory: string | null;
  /** Requirements files to install. */
  readonly requirementFiles: readonly string[];
  /** Requirements to install, from the pyproject.toml of sources and the inline metadata of a script (PEP 723). */
  readonly requirements: readonly string[];
};
