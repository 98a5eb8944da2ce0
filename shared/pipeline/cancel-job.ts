import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/pipeline/handle-job-event.ts';

/** Cancels a job; cancelling twice, or one that is over, changes nothing. Undefined when there is no such job. */
export function cancelJob(ports: EventPorts, jobId: string, now: TimestampMs): Promise<Job | undefined> {
  return handleJobEvent(ports, { type: 'CANCEL_REQUESTED', eventId: 'cancel-requested', jobId, at: now });
}
