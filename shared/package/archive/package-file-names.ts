/** Names of job files in the root of a package, in order of preference. */
export const JOB_FILE_NAMES: readonly string[] = ['job.yaml', 'job.yml', 'job.json', 'config.yaml'];

/** The files that list what a program needs, in order of preference; a requirements.txt precedes them. */
export const DEPENDENCY_FILES: readonly string[] = ['uv.lock', 'poetry.lock', 'environment.yml', 'environment.yaml'];

const PROJECT_FILE_NAMES: readonly string[] = [
  'setup.py',
  'setup.cfg',
  'pyproject.toml',
  'PKG-INFO',
  ...DEPENDENCY_FILES,
  ...JOB_FILE_NAMES,
];
const WHEEL_FILE_NAMES: readonly string[] = ['METADATA', 'WHEEL', 'RECORD'];

/**
 * Whether a file may be a metadata or job file. While an archive is streamed, it is not yet known whether one top-level
 * directory contains everything, so files of both possible roots match.
 */
export function mayBeMetadata(path: string): boolean {
  const [first = '', second, ...deeper] = path.split('/');
  if (deeper.length > 0) {
    return false;
  }
  if (second === undefined) {
    return PROJECT_FILE_NAMES.includes(first);
  }
  return PROJECT_FILE_NAMES.includes(second) || (first.endsWith('.dist-info') && WHEEL_FILE_NAMES.includes(second));
}

/** Archives of several files; a single compressed file, such as data.csv.gz, is data. */
const INNER_ARCHIVE = /\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|tbz2?|txz|zip|whl|egg|7z|rar)$/i;

export function isArchiveName(path: string): boolean {
  return INNER_ARCHIVE.test(path);
}
