import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** A deployment's defaults for the tests of this folder. */
export const CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs/all/' },
  packageBase: 'gs://uploads/folder',
  uploadBucket: 'uploads',
};
