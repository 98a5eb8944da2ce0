import { type Instance, type PlacedJob, replicaName, type TimestampMs } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE, UNINTERRUPTED } from '#shared/domain/replica.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';

type ExpectPorts = { readonly replicas: ReplicaStore; readonly timeouts: Timeouts };

/** Records the replicas without a heartbeat; the record of a replica that has sent one is not changed. */
export async function expectReplicas(ports: ExpectPorts, job: PlacedJob, now: TimestampMs): Promise<void> {
  for (const instance of job.instances) {
    await expectReplica(ports, job, { instance, now });
  }
}

/** Does the same as `expectReplicas` for one of them. */
export async function expectReplica(
  { replicas, timeouts }: ExpectPorts,
  job: PlacedJob,
  { instance, now }: { readonly instance: Instance; readonly now: TimestampMs },
): Promise<void> {
  await replicas.record(expectedReplica(job, instance, { now, firstHeartbeatDueAt: now + timeouts.bootMs }));
}

/**
 * A replica before its first heartbeat. The job's boot deadline covers the master. The others have a lease from the
 * start, since the master may run before they have booted, and nothing else would detect their loss. So does a master
 * that replaces one whose heartbeat the job has seen, since the boot deadline no longer applies then.
 */
function expectedReplica(
  job: PlacedJob,
  instance: Instance,
  { now, firstHeartbeatDueAt }: { readonly now: TimestampMs; readonly firstHeartbeatDueAt: TimestampMs },
) {
  const isCoveredByJob = instance.role === 'master' && job.status === 'PREPARING' && job.reportedAt === null;
  return {
    jobId: job.jobId,
    attempt: job.attempt,
    replica: replicaName(instance),
    vmName: instance.vmName,
    instanceId: instance.instanceId,
    sequence: 0,
    heardAt: now,
    leaseExpiresAt: isCoveredByJob ? null : firstHeartbeatDueAt,
    phase: 'BOOTING',
    usage: NO_USAGE,
    progress: NO_PROGRESS,
    exit: null,
    ...UNINTERRUPTED,
  } as const;
}
