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

/**
 * Records a replica before its first heartbeat. The job's boot deadline covers the master. The others have a lease from
 * the start, since the master may run before they have booted, and nothing else would detect their loss. So does a
 * master that replaces one whose heartbeat the job has seen, since the boot deadline no longer applies then.
 */
export async function expectReplica(
  { replicas, timeouts }: ExpectPorts,
  job: PlacedJob,
  { instance, now }: { readonly instance: Instance; readonly now: TimestampMs },
): Promise<void> {
  const isCoveredByJob = instance.role === 'master' && job.status === 'PREPARING' && job.reportedAt === null;
  await replicas.record({
    jobId: job.jobId,
    attempt: job.attempt,
    replica: replicaName(instance),
    vmName: instance.vmName,
    instanceId: instance.instanceId,
    sequence: 0,
    heardAt: now,
    leaseExpiresAt: isCoveredByJob ? null : now + timeouts.bootMs,
    phase: 'BOOTING',
    usage: NO_USAGE,
    progress: NO_PROGRESS,
    exit: null,
    ...UNINTERRUPTED,
  });
}
