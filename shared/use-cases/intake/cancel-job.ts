import type { EventOf } from '#shared/domain/event.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';

export type CancelPorts = EventPorts & TuningEventPorts;

/**
 * Cancels a job or a tuning; idempotent, and without effect on a closed one. Returns undefined if there is neither of
 * that id.
 */
export async function cancelJob(
  ports: CancelPorts,
  { jobId, by }: { readonly jobId: string; readonly by: string | null },
  now: TimestampMs,
): Promise<Job | Tuning | undefined> {
  const event = { ...cancelEventOf(jobId, now), by };
  return (await handleJobEvent(ports, event)) ?? (await handleTuningEvent(ports, { ...event, tuningId: jobId }));
}

/** The request to cancel a job; however often it is made, it is one event. */
export function cancelEventOf(jobId: string, at: TimestampMs): EventOf<'CANCEL_REQUESTED'> {
  return { type: 'CANCEL_REQUESTED', eventId: 'cancel-requested', jobId, at };
}

export type CancelMessage = { readonly jobId: string; readonly publishedAt: TimestampMs };

/**
 * Handles a cancel message. It can overtake the upload that creates the job, and losing it would leave a job running
 * and billed: TOO_EARLY asks for redelivery until `earlyCancelMs` after it was published, then the job is UNKNOWN.
 */
export async function handleCancelMessage(
  ports: CancelPorts,
  { jobId, publishedAt }: CancelMessage,
  now: TimestampMs,
): Promise<'CANCELLED' | 'TOO_EARLY' | 'UNKNOWN'> {
  // Pub/Sub does not say who has published a message.
  if ((await cancelJob(ports, { jobId, by: null }, now)) !== undefined) {
    return 'CANCELLED';
  }
  return now - publishedAt < ports.timeouts.earlyCancelMs ? 'TOO_EARLY' : 'UNKNOWN';
}
