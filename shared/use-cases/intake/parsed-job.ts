import { type JobToRead, readJob } from '#shared/job-file/read-job.ts';
import type { JobFileReading } from '#shared/job-file/read-job-file.ts';

/** A job as it was submitted, and what its file says with its flags: it is parsed once, however often it is checked. */
export type ParsedJob = { readonly job: JobToRead; readonly reading: JobFileReading };

export function parseJob(job: JobToRead): ParsedJob {
  return { job, reading: readJob(job) };
}
