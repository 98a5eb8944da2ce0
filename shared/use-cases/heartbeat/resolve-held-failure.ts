import { evaluateHeldFailure, isHolding } from '#shared/domain/held-failure.ts';
import { isPlaced, type Job, type TimestampMs } from '#shared/domain/job.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/**
 * Ends the attempt whose failure is held, if the records of its replicas say how; called on each heartbeat of the job,
 * and by the reconciler. It reads one record per replica, and nothing if no failure is held.
 */
export async function resolveHeldFailure(
  ports: EventPorts & { readonly replicas: ReplicaStore },
  job: Job | undefined,
  now: TimestampMs,
): Promise<void> {
  if (job === undefined || !isPlaced(job) || !isHolding(job)) {
    return;
  }
  const { jobId, attempt } = job;
  const { items } = await readableOf(ports.replicas.listByJob(jobId));
  const current = items.filter((replica) => replica.attempt === attempt);
  const exit = evaluateHeldFailure(job, current, { now, timeouts: ports.timeouts });
  if (exit !== null) {
    const eventId = `resolved-${attempt}`;
    await handleJobEvent(ports, { type: 'HELD_FAILURE_RESOLVED', eventId, jobId, at: now, attempt, exit });
  }
}
