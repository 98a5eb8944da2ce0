import type { Effect } from '#shared/domain/effect.ts';
import type { JobIn } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { queuedJob } from '../domain/example-job.ts';

export const job = jobOf('digits');

export function jobOf(jobId: string, facts: Partial<JobIn<'QUEUED'>> = {}): JobIn<'QUEUED'> {
  return { ...queuedJob(), jobId, ...facts };
}

export function provisionOf(placementRound: number): Effect {
  return { type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound };
}

export async function revisionOf(store: JobStore, jobId = 'digits'): Promise<number> {
  return (await store.read(jobId))?.revision ?? Number.NaN;
}
