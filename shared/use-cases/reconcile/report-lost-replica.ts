import type { Cause } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type HeartbeatPorts, reportExit } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { resolveHeldFailure } from '#shared/use-cases/heartbeat/resolve-held-failure.ts';

/**
 * Interrupts the attempt of a replica whose VM is lost. A replica that had reported its exit before is classified by
 * that exit: what happens to a VM after its program has finished does not matter.
 */
export async function reportLostReplica(
  ports: HeartbeatPorts,
  replica: Replica,
  loss: { readonly at: TimestampMs; readonly cause: Cause },
): Promise<void> {
  if (replica.exit !== null) {
    await resolveHeldFailure(ports, await reportExit(ports, replica, loss.at), loss.at);
    return;
  }
  const { jobId, attempt, instanceId } = replica;
  const eventId = `lost-${attempt}-${instanceId}`;
  await handleJobEvent(ports, { type: 'ATTEMPT_INTERRUPTED', eventId, jobId, at: loss.at, attempt, cause: loss.cause });
  await ports.replicas.clearLeases(jobId, attempt);
}
