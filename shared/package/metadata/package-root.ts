/** A directory of the archive in which imports begin, or one that is itself a package of another name (`package_dir`). */
export type PackageRoot = {
  /** Dotted name of the package that the directory is; '' where it holds packages. */
  readonly prefix: string;
  /** Relative to the root of the project, without slashes at its ends. */
  readonly directory: string;
};

export function rootOf(directory: string, prefix = ''): PackageRoot {
  const names = directory.split('/').filter((name) => name !== '' && name !== '.');
  return { prefix, directory: names.join('/') };
}
