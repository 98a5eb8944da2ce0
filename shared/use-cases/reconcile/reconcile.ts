import { type Cause, causeOf } from '#shared/domain/cause.ts';
import { elapsedMs } from '#shared/domain/history.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { evaluateLease, extendLease } from '#shared/domain/lease.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { attemptAll } from '#shared/machine/attempt-all.ts';
import { publishOutboxes, WORK_PER_TICK_MAX, wakeDue } from '#shared/machine/machine.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import { type EventPorts, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { type TuningEventPorts, tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { readDeadline } from '#shared/use-cases/heartbeat/read-start.ts';
import { resolveHeldFailure } from '#shared/use-cases/heartbeat/resolve-held-failure.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';
import { reportLostReplica } from '#shared/use-cases/reconcile/report-lost-replica.ts';

type JobPorts = EventPorts & { readonly replicas: ReplicaStore };

export type ReconcilePorts = JobPorts & TuningEventPorts;

/**
 * One tick of the reconciler: recovers from lost messages, crashes and unreachable VMs. It queries only what is due: a
 * healthy replica, or a job or tuning whose deadline has not passed, costs no read.
 */
export async function reconcile(ports: ReconcilePorts, now: TimestampMs): Promise<void> {
  const parts = [
    () => publishOutboxes(jobMachine(ports)),
    () => publishOutboxes(tuningMachine(ports)),
    () => endExpiredLeases(ports, now),
    () => wakeDueJobs(ports, now),
    // A lost suggestion, trial end or cancellation is requested again.
    () => wakeDue(tuningMachine(ports), now),
    () => logUsage(ports),
  ];
  await attemptAll(parts, (part) => part());
}

/** The line by which charts know what runs, and what it costs an hour. */
async function logUsage({ jobs, logger }: EventPorts): Promise<void> {
  const { vms, microUsdPerHour, unpricedVms } = await jobs.readUsage();
  logger.log('INFO', `${vms} VMs`, { kind: 'usage', vms, usdPerHour: microUsdPerHour / 1e6, unpricedVms });
}

/** Wakes the jobs that are due (`wakeDue`). A failure that is held is evaluated at each of these deadlines. */
export async function wakeDueJobs(ports: JobPorts, now: TimestampMs): Promise<void> {
  const machine = {
    ...jobMachine(ports),
    deadlineOf: (jobId: string, wake: { readonly eventId: string; readonly at: TimestampMs }) =>
      readDeadline(ports, jobId, wake),
  };
  await wakeDue(machine, now, (job) => resolveHeldFailure(ports, job, now));
}

/**
 * Ends attempts whose replicas missed their lease, provided other replicas are still reporting. The newest heartbeat is
 * queried only if a lease has expired. Throws at the end if a record cannot be read.
 */
export async function endExpiredLeases(ports: JobPorts, now: TimestampMs): Promise<void> {
  const { items: expired, error } = await readableOf(ports.replicas.listExpired(now, WORK_PER_TICK_MAX));
  const lastHeartbeatAt = expired.length === 0 ? undefined : await ports.replicas.lastHeartbeatAt();
  await attemptAll(expired, (replica) => handleExpiredLease(ports, replica, { now, lastHeartbeatAt }));
  if (error !== null) {
    throw error;
  }
}

async function handleExpiredLease(
  ports: JobPorts,
  replica: Replica,
  { now, lastHeartbeatAt }: { readonly now: TimestampMs; readonly lastHeartbeatAt: TimestampMs | undefined },
): Promise<void> {
  const { timeouts } = ports;
  const verdict = evaluateLease(replica, { now, lastHeartbeatAt, timeouts });
  if (verdict === 'EXPIRED' || replica.exit !== null) {
    const { jobId, attempt, vmName, heardAt } = replica;
    if (await reportLostReplica(ports, replica, { at: now, cause: causeOfLoss(replica, now) })) {
      const message = `lease of ${replica.replica} of job ${jobId} has expired`;
      const what = { jobId, attempt, replica: replica.replica, vmName, unheardMs: elapsedMs(heardAt, now) };
      logDecision(ports.logger, { decision: 'LEASE_EXPIRED', message, ...what });
    }
  } else if (verdict === 'SUSPECT') {
    // A heartbeat that arrived in the meantime has a higher sequence number and is kept.
    await ports.replicas.record(extendLease(replica, now, timeouts));
  }
}

/** A replica without a heartbeat has not booted. */
function causeOfLoss({ replica, vmName, heardAt, phase, sequence }: Replica, now: TimestampMs): Cause {
  const seconds = Math.round((now - heardAt) / 1_000);
  const what = `Replica ${replica} on VM ${vmName}`;
  return sequence === 0
    ? causeOf('VM_BOOT_TIMED_OUT', `${what} did not send its first heartbeat within ${seconds} s.`)
    : causeOf('HEARTBEAT_LOST', `${what} sent no heartbeat for ${seconds} s.`, [`last phase: ${phase}`]);
}
