import { type JobUpdate, jobUpdateOf } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { tuningUpdateOf } from '#shared/tuning/tuning-effect.ts';

/** The record of a submission; users know both kinds under a job id. */
export type Submitted = Job | Tuning;

/** Reads the job or the tuning of an id; undefined if there is neither. */
export async function readSubmitted(
  { jobs, tunings }: { readonly jobs: JobStore; readonly tunings: TuningStore },
  jobId: string,
): Promise<Submitted | undefined> {
  return (await jobs.read(jobId))?.record ?? (await tunings.read(jobId))?.record;
}

export function idOf(submitted: Submitted): string {
  return 'tuningId' in submitted ? submitted.tuningId : submitted.jobId;
}

/** The job update with the current state. */
export function updateOf(submitted: Submitted): JobUpdate {
  return 'tuningId' in submitted ? tuningUpdateOf(submitted) : jobUpdateOf(submitted);
}
