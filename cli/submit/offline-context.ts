import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** Stands in for what a deployment says, by which no job is judged: what it supplies is not missed. */
export const OFFLINE_CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs' },
  packageBase: 'gs://uploads',
  uploadBucket: null,
};
