import type { Cause } from '#shared/domain/cause.ts';
import { isPlaced, type Job, replicaName, type TimestampMs } from '#shared/domain/job.ts';
import { ownsReplica } from '#shared/domain/ownership.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type HeartbeatPorts, reportExit } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { resolveHeldFailure } from '#shared/use-cases/heartbeat/resolve-held-failure.ts';
import { expectReplica } from '#shared/use-cases/provision/expect-replicas.ts';

type Loss = { readonly at: TimestampMs; readonly cause: Cause };

/**
 * Interrupts the attempt of a replica whose VM is lost. A replica that had reported its exit before is classified by
 * that exit: what happens to a VM after its program has finished does not matter. The record of a VM of an
 * earlier placement does not interrupt the attempt. Returns whether the loss was reported.
 */
export async function reportLostReplica(ports: HeartbeatPorts, replica: Replica, loss: Loss): Promise<boolean> {
  const job = (await ports.jobs.read(replica.jobId))?.record;
  if (job === undefined || !ownsReplica(job, replica)) {
    await forgetReplica(ports, job, { replica, at: loss.at });
    return false;
  }
  if (replica.exit !== null) {
    await resolveHeldFailure(ports, await reportExit(ports, replica, loss.at), loss.at);
    return false;
  }
  await interruptAttempt(ports, replica, loss);
  await ports.replicas.clearLeases(replica.jobId, replica.attempt);
  return true;
}

/** Interrupts the attempt that has lost this VM, once. */
export async function interruptAttempt(
  ports: EventPorts,
  { jobId, attempt, instanceId }: Pick<Replica, 'jobId' | 'attempt' | 'instanceId'>,
  loss: Loss,
): Promise<void> {
  const eventId = `lost-${attempt}-${instanceId}`;
  await handleJobEvent(ports, { type: 'ATTEMPT_INTERRUPTED', eventId, jobId, attempt, ...loss });
}

/** Without its lease, the record is not found again. It may have replaced the record of the VM that the job waits for. */
async function forgetReplica(
  ports: HeartbeatPorts,
  job: Job | undefined,
  { replica, at }: { readonly replica: Replica; readonly at: TimestampMs },
): Promise<void> {
  const isCurrent = job !== undefined && isPlaced(job) && job.attempt === replica.attempt;
  const instance = isCurrent ? job.instances.find((one) => replicaName(one) === replica.replica) : undefined;
  if (isCurrent && instance !== undefined) {
    await expectReplica(ports, job, { instance, now: at });
  } else {
    await ports.replicas.record({ ...replica, leaseExpiresAt: null });
  }
}
