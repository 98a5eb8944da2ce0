import { classifyExit } from '#shared/domain/exit-report.ts';
import {
  allReplicasCreated,
  isPlaced,
  type Job,
  MASTER,
  type PlacedJob,
  replicaName,
  stateOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { ownsVm, type VmClaim } from '#shared/domain/ownership.ts';
import type { Replica } from '#shared/domain/replica.ts';

import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

type JobNews = 'REPLICA_REPORTED' | 'REPLICA_STARTED' | 'REPLICA_UPLOADING';

export type HeartbeatPorts = EventPorts & { readonly replicas: ReplicaStore };

/**
 * Takes one heartbeat of a VM whose identity was verified. It writes the replica's record and nothing else, but for the
 * few that move the job, each once an attempt: of the master its first word, the first that says RUNNING and the first
 * that says UPLOADING; of every replica the last. A VM that is not the current attempt's is told to stop, and nothing
 * that it says is written down.
 *
 * An end before all VMs of a cluster are known to exist moves nothing yet: where another one is refused, those that
 * came up are deleted, and what they say to that is no interruption. It is written down; the watcher takes it to the
 * job when its lease has passed, unless the refusal has cleared that meanwhile.
 */
export async function recordHeartbeat(
  ports: HeartbeatPorts,
  heartbeat: Heartbeat,
  sender: VmClaim & { readonly at: TimestampMs },
): Promise<HeartbeatAnswer> {
  const job = (await ports.jobs.read(heartbeat.jobId))?.job;
  const refusal = refusalOf(job, heartbeat, sender);
  if (job === undefined || !isPlaced(job) || refusal !== null) {
    return { command: 'STOP', reason: refusal };
  }
  const replica = toReplica(heartbeat, sender, ports.timeouts.leaseMs);
  if ((await ports.replicas.record(replica)) === 'OUTDATED') {
    return goOn(job);
  }
  if (replica.exit !== null) {
    if (allReplicasCreated(job)) {
      await reportExit(ports, replica, sender.at);
    }
    return { command: 'STOP', reason: `Replica ${replica.replica} has reported its exit.` };
  }
  const news = newsFor(job, replica);
  if (news !== null) {
    const { jobId, attempt, instanceId } = replica;
    const eventId = `${news}-${attempt}-${replica.replica}-${instanceId}`;
    await handleJobEvent(ports, { type: news, eventId, jobId, at: sender.at, attempt, replica: replica.replica });
  }
  return goOn(job);
}

/** By the job as it was read: VMs that are created meanwhile are told of at the next heartbeat. */
function goOn(job: PlacedJob): HeartbeatAnswer {
  return allReplicasCreated(job)
    ? { command: 'CONTINUE', reason: null }
    : { command: 'WAIT', reason: `Not all machines of job ${job.jobId} are known to exist.` };
}

/**
 * Tells the job that a replica's program has ended; named after the VM, so that it happens once. Only then is the lease
 * given up: until it is, the watcher finds an exit that a crash has kept from the job.
 */
export async function reportExit(ports: HeartbeatPorts, replica: Replica, at: TimestampMs): Promise<void> {
  const { jobId, attempt, exit, instanceId } = replica;
  if (exit !== null) {
    const eventId = `exited-${attempt}-${replica.replica}-${instanceId}`;
    await handleJobEvent(ports, {
      type: 'REPLICA_EXITED',
      eventId,
      jobId,
      at,
      attempt,
      replica: replica.replica,
      exit,
    });
  }
  await ports.replicas.record({ ...replica, leaseExpiresAt: null });
}

/** Why a VM has no business here; null when it has. */
function refusalOf(job: Job | undefined, heartbeat: Heartbeat, sender: VmClaim): string | null {
  if (job === undefined) {
    return `There is no job ${heartbeat.jobId}.`;
  }
  if (job.status === 'CLOSING' || job.status === 'CLOSED') {
    return `Job ${job.jobId} is over: ${stateOf(job)}.`;
  }
  const isItself = sender.vmName === vmNameOf(job.jobId, heartbeat.attempt, heartbeat);
  return isItself && heartbeat.attempt === job.attempt && ownsVm(job, sender)
    ? null
    : `VM ${sender.vmName} is not part of attempt ${job.attempt} of job ${job.jobId}.`;
}

/** What this heartbeat says that the job does not know, judged by the job that was read for it: no further reads. */
function newsFor(job: Job, { replica, phase }: Replica): JobNews | null {
  if (replica !== MASTER) {
    return null;
  }
  if (job.status === 'PREPARING') {
    // A program that is over has run, though the heartbeat that said so was lost.
    const hasStarted = (phase === 'RUNNING' || phase === 'UPLOADING') && job.instances.length > 0;
    const firstWord = job.reportedAt === null ? 'REPLICA_REPORTED' : null;
    return hasStarted ? 'REPLICA_STARTED' : firstWord;
  }
  const isUploading = job.status === 'RUNNING' && phase === 'UPLOADING' && job.uploadingAt === null;
  return isUploading ? 'REPLICA_UPLOADING' : null;
}

function toReplica(heartbeat: Heartbeat, sender: VmClaim & { readonly at: TimestampMs }, leaseMs: number): Replica {
  return {
    jobId: heartbeat.jobId,
    attempt: heartbeat.attempt,
    replica: replicaName(heartbeat),
    vmName: sender.vmName,
    instanceId: sender.instanceId,
    sequence: heartbeat.sequence,
    heardAt: sender.at,
    leaseExpiresAt: sender.at + leaseMs,
    phase: heartbeat.phase,
    usage: heartbeat.usage,
    progress: heartbeat.progress,
    exit: heartbeat.exit === null ? null : classifyExit(heartbeat.exit, heartbeat.jobId),
  };
}
