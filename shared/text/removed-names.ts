/**
 * The names that earlier versions had, as a user writes them, with what to use instead: a command (`profile`), a flag of a
 * command (`tensorboard --dir`), the path of a job file's field, the first three parts of a path of the API, or a path
 * below a job (`/v1/jobs/JOB/profiles`).
 */
const REMOVED_NAMES: Readonly<Record<string, string>> = {
  profile: 'Use `dropforge exec JOB -- py-spy record …` (docs/shell.md).',
  'up --config deadManSeconds': 'Write `controlPlaneTimeoutSeconds`.',
  'up --config access': 'Run one embedded cloud for each group: callers of one share all jobs.',
  images: 'Use `docker build` or `gcloud builds submit` (docs/containers.md has an example).',
  'tensorboard --dir': 'Use `dropforge cp -r JOB_DIR FOLDER`.',
  'tensorboard --port': 'Append it to the command that is printed, as a flag of TensorBoard.',
  '/v1/jobs/JOB/profiles': 'Use `dropforge exec JOB -- py-spy record …` (docs/shell.md).',
  '/api/2.0/mlflow': 'Copy the job directory and start `mlflow ui` on it (docs/trackers.md).',
};

/** Returns a sentence that names what replaces a removed command, flag or field; undefined if there was none. */
export function findReplacement(name: string): string | undefined {
  return Object.hasOwn(REMOVED_NAMES, name) ? REMOVED_NAMES[name] : undefined;
}
