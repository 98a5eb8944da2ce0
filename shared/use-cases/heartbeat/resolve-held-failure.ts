import { evaluateHeldFailure, findFirstFailed, isHolding } from '#shared/domain/held-failure.ts';
import { isPlaced, type Job, type TimestampMs } from '#shared/domain/job.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/**
 * Ends the attempt whose failure is held, if the records of its replicas say how; called on each heartbeat of the job,
 * and by the reconciler. It reads one record per replica, and nothing if no failure is held. Returns the job
 * afterwards.
 */
export async function resolveHeldFailure(
  ports: EventPorts & { readonly replicas: ReplicaStore },
  job: Job | undefined,
  now: TimestampMs,
): Promise<Job | undefined> {
  if (job === undefined || !isPlaced(job) || !isHolding(job)) {
    return job;
  }
  const { jobId, attempt } = job;
  const { items: current } = await readableOf(ports.replicas.listByAttempt(job));
  const exit = evaluateHeldFailure(job, current, { now, timeouts: ports.timeouts });
  if (exit === null) {
    return job;
  }
  const eventId = `resolved-${attempt}`;
  const replica = findFirstFailed(job, current);
  return handleJobEvent(ports, { type: 'HELD_FAILURE_RESOLVED', eventId, jobId, at: now, attempt, exit, replica });
}
