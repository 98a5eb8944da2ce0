import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import {
  allReplicasCreated,
  isPending,
  isPlaced,
  type Job,
  MASTER,
  replicaName,
  stateOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { keepsVm, ownsVm, type VmIdentity } from '#shared/domain/ownership.ts';
import type { InterruptionNotice, Replica } from '#shared/domain/replica.ts';
import { isWorthKeeping } from '#shared/domain/rules/keeping.ts';
import { CLOCK_ERROR_MS_MAX, type Timeouts } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type PeerPorts, withPeerSecret } from '#shared/use-cases/heartbeat/peer-secret.ts';
import { readJobFacts } from '#shared/use-cases/heartbeat/read-job-facts.ts';
import { canCompleteStart, haveAllStarted } from '#shared/use-cases/heartbeat/read-start.ts';
import { type MeasurementPorts, recordMeasurements } from '#shared/use-cases/heartbeat/record-measurements.ts';
import { resolveHeldFailure } from '#shared/use-cases/heartbeat/resolve-held-failure.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';

type PhaseEvent = 'REPLICA_REPORTED' | 'REPLICA_STARTED' | 'REPLICA_UPLOADING';

export type HeartbeatPorts = EventPorts & { readonly replicas: ReplicaStore };

/**
 * Records one heartbeat of a VM whose identity was verified. It writes the replica's record only, except for the few
 * heartbeats that become a job event, each once per attempt: the master's first heartbeat, the one after which all
 * programs have started, the master's first UPLOADING, and the exit of every replica. While the failure of another
 * replica is held, each heartbeat also evaluates it. A VM that the current attempt does not own is told to stop, and
 * its heartbeat is not recorded; one that is kept after its failure is told for how long.
 *
 * An exit before all VMs of a cluster are confirmed is recorded, but does not become an event yet: if the creation of
 * another VM fails, the VMs that were created are deleted, and their exits are not interruptions. The reconciler
 * reports the exit when the replica's lease expires, unless the create failure has cleared the lease by then.
 *
 * The secret of an answer is that of the job as it was read, whose current attempt owns the VM.
 *
 * A trial's measurements are recorded before anything else of the heartbeat: whichever process reports the trial's exit
 * to its tuning finds the last one.
 */
export async function recordHeartbeat(
  ports: HeartbeatPorts & MeasurementPorts & PeerPorts,
  heartbeat: Heartbeat,
  sender: Sender,
): Promise<HeartbeatAnswer> {
  const job = (await ports.jobs.read(heartbeat.jobId))?.record;
  if (job !== undefined && keepsVm(job, sender)) {
    return keepAnswer(job, job.kept.until - sender.at);
  }
  const rejection = reasonToReject(job, heartbeat, sender);
  if (job === undefined || !isPlaced(job) || rejection !== null) {
    logRejection(ports, { heartbeat, sender, rejection });
    return { command: 'STOP', reason: rejection?.message ?? null };
  }
  const measured = await recordMeasurements(ports, job, { heartbeat, at: sender.at });
  const replica = toReplica(measured, heartbeat, { ...sender, timeouts: ports.timeouts });
  const canStart = await canCompleteStart(ports, measured, replica);
  if ((await ports.replicas.record(replica)) === 'OUTDATED') {
    return withPeerSecret(ports, job, answerOf(measured));
  }
  if (replica.exit !== null) {
    const reported = allReplicasCreated(job) ? await reportExit(ports, replica, sender.at) : job;
    return answerExit(await resolveHeldFailure(ports, reported, sender.at), replica, sender);
  }
  const hasStarted = canStart && (await haveAllStarted(ports, measured, replica));
  const type = phaseEventOf(measured, replica, hasStarted);
  if (type !== null) {
    const { jobId, attempt, instanceId } = replica;
    const eventId = `${type}-${attempt}-${replica.replica}-${instanceId}`;
    await handleJobEvent(ports, { type, eventId, jobId, at: sender.at, attempt, replica: replica.replica });
  }
  await resolveHeldFailure(ports, measured, sender.at);
  return withPeerSecret(ports, job, answerOf(measured));
}

/** Based on the job as it was read; VMs that are confirmed meanwhile are taken into account at the next heartbeat. */
function answerOf(job: Job): HeartbeatAnswer {
  if (!isPlaced(job)) {
    return { command: 'STOP', reason: endOf(job) };
  }
  if (job.status === 'RUNNING' && job.stopRequestedAt !== null) {
    return {
      command: 'STOP',
      reason: `${nameOf(job)} is stopped early. Its outputs are saved.`,
      isEarlyStop: true,
    };
  }
  return allReplicasCreated(job)
    ? { command: 'CONTINUE', reason: null }
    : { command: 'WAIT', reason: `Not all VMs of job ${job.jobId} are confirmed to exist.` };
}

/** While a failure is not decided yet, its VM stays: it asks again with its next heartbeat. */
function answerExit(job: Job | undefined, { replica, attempt, exit }: Replica, sender: Sender): HeartbeatAnswer {
  if (job !== undefined && keepsVm(job, sender)) {
    return keepAnswer(job, job.kept.until - sender.at);
  }
  const isOpen = job !== undefined && isPlaced(job) && job.attempt === attempt;
  if (isOpen && exit?.outcome === 'FAILED' && isWorthKeeping(job, exit.cause)) {
    return keepAnswer(job, job.spec.limits.keepOnFailureMs);
  }
  return { command: 'STOP', reason: `Replica ${replica} has reported its exit.` };
}

function keepAnswer({ jobId }: Job, leftMs: number): HeartbeatAnswer {
  const reason = `Job ${jobId} has failed.`;
  return leftMs > 0 ? { command: 'STOP', reason, keepSeconds: leftMs / 1_000 } : { command: 'STOP', reason };
}

function nameOf({ jobId, trial }: Job): string {
  return trial === null ? `Job ${jobId}` : `Trial ${trial.ordinal} of tuning ${trial.tuningId}`;
}

function endOf(job: Job): string {
  return `Job ${job.jobId} has ended: ${stateOf(job)}.`;
}

/**
 * Reports a replica's exit to its job, once per VM, and clears the lease afterwards: until then the reconciler finds an
 * exit that a crash has kept from the job. Returns the job afterwards.
 */
export async function reportExit(ports: HeartbeatPorts, replica: Replica, at: TimestampMs): Promise<Job | undefined> {
  const { jobId, attempt, exit, instanceId, endedAt } = replica;
  let job: Job | undefined;
  if (exit !== null) {
    const eventId = `exited-${attempt}-${replica.replica}-${instanceId}`;
    const event = { eventId, jobId, at, attempt, replica: replica.replica, exit };
    job = await handleJobEvent(ports, { type: 'REPLICA_EXITED', ...event, ...(endedAt !== null && { endedAt }) });
  }
  await ports.replicas.record({ ...replica, leaseExpiresAt: null });
  return job;
}

type Rejection = {
  readonly code: 'JOB_UNKNOWN' | 'WRONG_ACCOUNT' | 'JOB_ENDED' | 'NOT_CURRENT';
  readonly message: string;
};

type Rejected = { readonly heartbeat: Heartbeat; readonly sender: VmIdentity; readonly rejection: Rejection | null };

function logRejection({ logger }: HeartbeatPorts, { heartbeat, sender, rejection }: Rejected): void {
  const { jobId, attempt, phase } = heartbeat;
  const { code: reason = 'NOT_CURRENT', message = `Job ${jobId} has no VMs.` } = rejection ?? {};
  const from = { jobId, attempt, replica: replicaName(heartbeat), vmName: sender.vmName, phase };
  // The program of one account that reports for a job of another is not a matter of timing.
  const severity = reason === 'WRONG_ACCOUNT' ? 'WARNING' : 'INFO';
  logDecision(logger, { severity, decision: 'HEARTBEAT_REJECTED', message, ...from, reason });
}

/** Reason to reject this VM's heartbeat, or null. */
function reasonToReject(job: Job | undefined, heartbeat: Heartbeat, sender: VmIdentity): Rejection | null {
  if (job === undefined) {
    return { code: 'JOB_UNKNOWN', message: `Job ${heartbeat.jobId} does not exist.` };
  }
  if (sender.serviceAccount !== job.spec.serviceAccount) {
    // A program with the rights of one account could otherwise report for the jobs of another.
    const message = `VM ${sender.vmName} does not run as the service account of job ${job.jobId}.`;
    return { code: 'WRONG_ACCOUNT', message };
  }
  if (job.status === 'CLOSING' || job.status === 'CLOSED') {
    return { code: 'JOB_ENDED', message: endOf(job) };
  }
  const isItself = sender.vmName === vmNameOf(job.jobId, heartbeat.attempt, heartbeat);
  return isItself && heartbeat.attempt === job.attempt && ownsVm(job, sender)
    ? null
    : {
        code: 'NOT_CURRENT',
        message: `VM ${sender.vmName} is not part of attempt ${job.attempt} of job ${job.jobId}.`,
      };
}

/**
 * The event for a phase that the job, as it was read, does not know yet; null otherwise. `hasStarted`: whether the
 * programs of all replicas have.
 */
function phaseEventOf(job: Job, { replica, phase }: Replica, hasStarted: boolean): PhaseEvent | null {
  if (hasStarted && job.status === 'PREPARING' && job.instances.length > 0) {
    return 'REPLICA_STARTED';
  }
  if (replica !== MASTER) {
    // The first VM of a cluster that has started while others wait for capacity.
    return isPending(job) && job.assemblingSince === null ? 'REPLICA_REPORTED' : null;
  }
  if (job.status === 'PREPARING') {
    return job.reportedAt === null ? 'REPLICA_REPORTED' : null;
  }
  const isUploading = job.status === 'RUNNING' && phase === 'UPLOADING' && job.uploadingAt === null;
  return isUploading ? 'REPLICA_UPLOADING' : null;
}

type Sender = VmIdentity & { readonly at: TimestampMs };

function toReplica(
  job: Job,
  heartbeat: Heartbeat,
  { timeouts, ...sender }: Sender & { readonly timeouts: Timeouts },
): Replica {
  const { exit, pendingExit, reboot } = heartbeat;
  const classify = (report: ExitFacts) => classifyExit(report, readJobFacts(job, heartbeat));
  return {
    jobId: heartbeat.jobId,
    attempt: heartbeat.attempt,
    replica: replicaName(heartbeat),
    vmName: sender.vmName,
    instanceId: sender.instanceId,
    sequence: heartbeat.sequence,
    heardAt: sender.at,
    leaseExpiresAt: sender.at + timeouts.leaseMs,
    phase: heartbeat.phase,
    usage: heartbeat.usage,
    progress: heartbeat.progress,
    exit: exit === null ? null : classify(exit),
    pendingExit: pendingExit === undefined ? null : classify(pendingExit),
    endedAt: programEndOf(heartbeat, sender.at, timeouts),
    notice: noticeOf(heartbeat, sender.at),
    rebootedAt: reboot === undefined ? null : before(sender.at, reboot.secondsAgo),
    reboots: reboot?.count ?? 0,
    exitCode: exitCodeOf(exit ?? pendingExit),
    health: heartbeat.health ?? [],
  };
}

function exitCodeOf(report: ExitFacts | undefined): number | null {
  const { exitCode = null, signal = null } = report ?? {};
  return exitCode ?? (signal === null ? null : 128 + signal);
}

/**
 * When the program ended: by the VM's clock, which is precise, unless it is wrong. The estimate from the time since
 * then is too late by the time that the heartbeat was under way.
 */
function programEndOf({ programEnd }: Heartbeat, at: TimestampMs, { heartbeatDelayMs }: Timeouts): TimestampMs | null {
  if (programEnd === undefined) {
    return null;
  }
  const estimate = before(at, programEnd.secondsAgo);
  const isPlausible = programEnd.at >= estimate - heartbeatDelayMs && programEnd.at <= estimate + CLOCK_ERROR_MS_MAX;
  return isPlausible ? programEnd.at : estimate;
}

function noticeOf({ notice }: Heartbeat, at: TimestampMs): InterruptionNotice | null {
  if (notice === undefined) {
    return null;
  }
  const { isStopping, secondsLeft, message } = notice;
  return { isStopping, endsAt: secondsLeft === null ? null : Math.round(at + secondsLeft * 1_000), message };
}

function before(at: TimestampMs, seconds: number): TimestampMs {
  return Math.round(at - seconds * 1_000);
}
