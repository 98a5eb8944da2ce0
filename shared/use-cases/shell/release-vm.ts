import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/**
 * Ends the time of a VM that is kept after its program failed; without effect on a job that keeps none. Returns
 * undefined if there is no such job.
 */
export async function releaseVm(
  ports: EventPorts,
  { jobId, by }: { readonly jobId: string; readonly by: string | null },
  at: TimestampMs,
): Promise<Job | undefined> {
  return handleJobEvent(ports, { type: 'RELEASE_REQUESTED', eventId: 'release-requested', jobId, at, by });
}
