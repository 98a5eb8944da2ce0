import { type Cause, causeOf } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { evaluateLease, extendLease } from '#shared/domain/lease.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { attemptAll } from '#shared/use-cases/attempt-all.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { publishOutbox } from '#shared/use-cases/publish-outbox.ts';
import { reportLostReplica } from '#shared/use-cases/reconcile/report-lost-replica.ts';

export type ReconcilePorts = EventPorts & { readonly replicas: ReplicaStore };

/** How much one tick takes on; the rest is found by the next one. */
export const WORK_PER_TICK_MAX = 200;

/**
 * One tick of the watcher: mends what lost messages, crashes and silent VMs have left behind. It reads what there is to
 * do and nothing else: a healthy replica or a job that waits for its time costs no read.
 */
export async function reconcile(ports: ReconcilePorts, now: TimestampMs): Promise<void> {
  const parts = [() => publishOutboxes(ports), () => endExpiredLeases(ports, now), () => wakeDueJobs(ports, now)];
  await attemptAll(parts, (part) => part());
}

/** A process that died between its commit and its effects left them owed. */
export async function publishOutboxes(ports: ReconcilePorts): Promise<void> {
  await attemptAll(await ports.jobs.listJobsWithOutbox(WORK_PER_TICK_MAX), (jobId) => publishOutbox(ports, jobId));
}

/**
 * The event is named after the deadline and the tick. The rules themselves see to it that two ticks wake a job once; a
 * name without the tick would not do, for a late answer may set a deadline back to a time at which it was woken before.
 */
export async function wakeDueJobs(ports: ReconcilePorts, now: TimestampMs): Promise<void> {
  await attemptAll(await ports.jobs.listDue(now, WORK_PER_TICK_MAX), ({ jobId, wakeAt }) => {
    const eventId = `deadline-${wakeAt}-${now}`;
    return handleJobEvent(ports, { type: 'DEADLINE_PASSED', eventId, jobId, at: now });
  });
}

/**
 * Replicas that were not heard from in time end their attempt, as far as it is they that are silent; one that was never
 * heard from has not booted. Whether anybody was heard is asked only when a lease has passed.
 */
export async function endExpiredLeases(ports: ReconcilePorts, now: TimestampMs): Promise<void> {
  const expired = await ports.replicas.listExpired(now, WORK_PER_TICK_MAX);
  const lastHeardAt = expired.length === 0 ? undefined : await ports.replicas.lastHeardAt();
  await attemptAll(expired, (replica) => meetSilence(ports, replica, { now, lastHeardAt }));
}

async function meetSilence(
  ports: ReconcilePorts,
  replica: Replica,
  { now, lastHeardAt }: { readonly now: TimestampMs; readonly lastHeardAt: TimestampMs | undefined },
): Promise<void> {
  const { timeouts } = ports;
  const silence = evaluateLease(replica, { now, lastHeardAt, timeouts });
  if (silence === 'LOST' || replica.exit !== null) {
    await reportLostReplica(ports, replica, { at: now, cause: causeOfSilence(replica, now) });
  } else if (silence === 'MISSED') {
    // A heartbeat that has come meanwhile has a higher number, and stands.
    await ports.replicas.record(extendLease(replica, now, timeouts));
  }
}

function causeOfSilence({ replica, vmName, heardAt, phase, sequence }: Replica, now: TimestampMs): Cause {
  const silentSeconds = Math.round((now - heardAt) / 1_000);
  return sequence === 0
    ? causeOf('VM_BOOT_TIMED_OUT', `Replica ${replica} on ${vmName} did not report within ${silentSeconds} s.`)
    : causeOf('HEARTBEAT_LOST', `Replica ${replica} on ${vmName} was not heard from for ${silentSeconds} s.`, [
        `last phase: ${phase}`,
      ]);
}
