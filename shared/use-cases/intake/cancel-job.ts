import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/** Cancels a job; idempotent, and without effect on a closed job. Returns undefined if there is no such job. */
export function cancelJob(ports: EventPorts, jobId: string, now: TimestampMs): Promise<Job | undefined> {
  return handleJobEvent(ports, { type: 'CANCEL_REQUESTED', eventId: 'cancel-requested', jobId, at: now });
}

export type CancelMessage = { readonly jobId: string; readonly publishedAt: TimestampMs };

/**
 * Handles a cancel message. It can overtake the upload that creates the job, and losing it would leave a job running
 * and billed: TOO_EARLY asks for redelivery until `earlyCancelMs` after it was published, then the job is UNKNOWN.
 */
export async function handleCancelMessage(
  ports: EventPorts,
  { jobId, publishedAt }: CancelMessage,
  now: TimestampMs,
): Promise<'CANCELLED' | 'TOO_EARLY' | 'UNKNOWN'> {
  if ((await cancelJob(ports, jobId, now)) !== undefined) {
    return 'CANCELLED';
  }
  return now - publishedAt < ports.timeouts.earlyCancelMs ? 'TOO_EARLY' : 'UNKNOWN';
}
