/**
 * Where members have their own jobs (only_own_jobs), each user has a folder `users/EMAIL/` in every bucket, and the
 * directories of a user's jobs are in it. The rule needs no record of a job, so it holds for deleted ones, and two
 * submissions at a time cannot break it.
 */
const USERS_FOLDER = 'users';

/** ASCII only, since other letters can have an ASCII lower case, and nothing that separates or matches names. */
const EMAIL = /^[\w.%+'-]+@[\w.-]+$/;

/** The e-mail address as it is compared and as it names a folder, in lowercase; null if it is not a valid one. */
export function normalizeEmail(given: string): string | null {
  return EMAIL.test(given) ? given.toLowerCase() : null;
}

/** The name of a user's folder in a bucket, without a trailing slash. */
export function userFolderOf(email: string): string {
  return `${USERS_FOLDER}/${email}`;
}

/** Whether a job directory is below the folder of this user. Cloud Storage does not normalize names: neither is this. */
export function isInUserFolder(jobDir: string, email: string): boolean {
  const path = pathOf(jobDir);
  const folder = `${userFolderOf(email)}/`;
  const below = path.slice(folder.length).split('/');
  return path.startsWith(folder) && below.every((part) => !['', '.', '..'].includes(part));
}

/** Whether a job directory contains the folders of all users. */
export function containsUserFolders(jobDir: string): boolean {
  const path = pathOf(jobDir);
  return path === '' || path === USERS_FOLDER;
}

/** Whether a job directory contains, or is in, the folder of a user other than this one. */
export function reachesOtherUsers(jobDir: string, email: string): boolean {
  const [first, second] = pathOf(jobDir).split('/');
  return containsUserFolders(jobDir) || (first === USERS_FOLDER && second !== email);
}

/** The name in the bucket, of `gs://bucket/name`. */
function pathOf(jobDir: string): string {
  return jobDir.replace(/^gs:\/\/[^/]*\/?/, '');
}
