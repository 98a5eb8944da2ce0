/** These rules read the name of an object in the upload bucket; its content decides. */

export const JOB_FILE_NAME = /\.(ya?ml|json)$/i;
export const PACKAGE_NAME = /\.(tar\.gz|tgz|tar|zip|whl|tar\.bz2|tbz2?|tar\.xz|txz|tar\.zst|7z|rar)$/i;
const CANONICAL_JOB_FILE_NAME = /(^|\/)job\.(ya?ml|json)$/i;

/**
 * Components of a parallel composite upload by gcloud (`parallel_composite_upload`), which are not uploads themselves.
 */
export const COMPOSITE_PART_NAME = /(^|\/)parallel_composite_uploads\//;

/** Alone in a folder, probably meant to run, or to be read by Dropforge. */
const LONE_FILE_NAME = /\.(py|ipynb|txt)$/i;
/** Packages that `dropforge jobs submit` uploads before their job file, each in a folder of its own. */
const SUBMITTED_PACKAGE_NAME = /\/packages\/[0-9a-f]{64}\/[^/]+$/;

/** Whether a file is a job file by its name alone. */
export const isNamedAsJobFile = (name: string): boolean => CANONICAL_JOB_FILE_NAME.test(name);

/** Whether the object is in no folder: each of them is answered with a report, whatever it is. */
export const isAtRoot = (name: string): boolean => !name.includes('/');

/** Whether the file is answered with a report if it is the only one in its folder. */
export const isReportedAlone = (name: string): boolean =>
  LONE_FILE_NAME.test(name) && !SUBMITTED_PACKAGE_NAME.test(name);

/** Whether an upload of this name certainly gets a report. */
export const isAlwaysReported = (name: string): boolean =>
  isAtRoot(name) || isNamedAsJobFile(name) || PACKAGE_NAME.test(name);

/**
 * The job id for a file that sets none: derived from the upload's name and its generation or id, so equal for every
 * delivery. It is short enough for a tuning, and not that of a trial.
 */
export function jobIdOfUpload(name: string, suffix: string): string {
  const letters = name
    .replace(/^.*\//s, '')
    .replace(/\.(tar\.gz|[a-z0-9]+)$/i, '')
    .replace(/\W+/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 90)
    .replace(/_trial$/, '_trials');
  return `${letters === '' ? 'job' : letters}_${suffix}`;
}
