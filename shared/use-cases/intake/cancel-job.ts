import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/** Cancels a job; cancelling twice, or one that is over, changes nothing. Undefined when there is no such job. */
export function cancelJob(ports: EventPorts, jobId: string, now: TimestampMs): Promise<Job | undefined> {
  return handleJobEvent(ports, { type: 'CANCEL_REQUESTED', eventId: 'cancel-requested', jobId, at: now });
}

export type CancelMessage = { readonly jobId: string; readonly publishedAt: TimestampMs };

/**
 * Takes a message that asks for a job's end. It may overtake the upload that makes the job: TOO_EARLY while it is
 * young, so that it is delivered again, for a cancel that is lost is a job that runs and is billed.
 */
export async function handleCancelMessage(
  ports: EventPorts,
  { jobId, publishedAt }: CancelMessage,
  now: TimestampMs,
): Promise<'TAKEN' | 'TOO_EARLY' | 'UNKNOWN'> {
  if ((await cancelJob(ports, jobId, now)) !== undefined) {
    return 'TAKEN';
  }
  return now - publishedAt < ports.timeouts.earlyCancelMs ? 'TOO_EARLY' : 'UNKNOWN';
}
