import { describeStart, hasMasterSucceeded, hasStarted, isStarting } from '#shared/domain/cluster-start.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { type Job, MASTER } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';

type StartPorts = { readonly replicas: ReplicaStore };

/**
 * Whether this heartbeat, not recorded yet, can be the one after which all programs of a cluster have started: it is
 * the first of its replica that says so. The master's are also evaluated later, in case a process died before its
 * evaluation. So each replica reads the others once, and not with each heartbeat while the last one installs.
 */
export async function canCompleteStart({ replicas }: StartPorts, job: Job, replica: Replica): Promise<boolean> {
  if (!hasStarted(replica) || !isStarting(job) || replica.replica === MASTER) {
    return hasStarted(replica);
  }
  const before = await replicas.findByInstance(replica.instanceId);
  return before === undefined || !hasStarted(before);
}

/**
 * Whether the programs of all replicas have started, after this replica's was recorded: of two that are recorded at
 * once, at least one finds both. One record is read per replica of a cluster. The success of the master is enough.
 */
export async function haveAllStarted({ replicas }: StartPorts, job: Job, replica: Replica): Promise<boolean> {
  return (
    !isStarting(job) || hasMasterSucceeded(replica) || describeStart(job, await replicas.listByAttempt(job)) === null
  );
}

/**
 * The event of a job whose deadline has passed: it says of a cluster in setup which replicas have not started, and what
 * they do. If all have, the event that says so was lost.
 */
export async function readDeadline(
  { jobs, replicas }: StartPorts & { readonly jobs: Pick<JobStore, 'read'> },
  jobId: string,
  wake: { readonly eventId: string; readonly at: number },
): Promise<JobEvent> {
  const job = (await jobs.read(jobId))?.record;
  if (job === undefined || !isStarting(job)) {
    return { type: 'DEADLINE_PASSED', jobId, ...wake };
  }
  const unstarted = describeStart(job, await replicas.listByAttempt(job));
  return unstarted === null
    ? { type: 'REPLICA_STARTED', jobId, ...wake, attempt: job.attempt, replica: MASTER }
    : { type: 'DEADLINE_PASSED', jobId, ...wake, unstarted };
}
