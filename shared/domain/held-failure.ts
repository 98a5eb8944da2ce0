import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { causeOfFirst, failuresOf, firstOf } from '#shared/domain/first-failure.ts';
import {
  type HeldFailure,
  MASTER,
  type PlacedJob,
  replicaName,
  replicasOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import type { Replica, ReplicaExit } from '#shared/domain/replica.ts';
import { REBOOT_EFFECT_MS_MAX, type Timeouts, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';

/** A job with a failure that is held. */
export type HoldingJob = PlacedJob & { readonly heldFailure: HeldFailure };

export function isHolding(job: PlacedJob): job is HoldingJob {
  return job.heldFailure !== null;
}

/**
 * The state of a member of the cluster after the failure. SETTLED: it ended by itself, or was alive after the failure.
 * SAVING: its program has ended, and its exit follows. STOPPING: Compute Engine ends its VM, and its exit follows.
 * UNKNOWN: it has sent no heartbeat since the failure. INTERRUPTED: it was lost.
 */
type MemberState =
  | { readonly state: 'SETTLED' | 'SAVING' }
  | { readonly state: 'STOPPING' | 'UNKNOWN' | 'INTERRUPTED'; readonly cause: Cause };

type Evaluation = { readonly now: TimestampMs; readonly timeouts: Timeouts };

/**
 * How the attempt ends, or null while that is not known. It is interrupted if any member of the cluster was, since the
 * others fail when they lose the connection to it; and it has failed once every member is SETTLED. After
 * `failureHoldMs`, a member that is STOPPING or UNKNOWN counts as interrupted, and one that is SAVING as ended.
 * `replicas` are the records of the current attempt.
 */
export function evaluateHeldFailure(
  job: HoldingJob,
  replicas: readonly Replica[],
  { now, timeouts }: Evaluation,
): ReplicaExit | null {
  const { heldFailure } = job;
  const byName = new Map(replicas.map((replica) => [replica.replica, replica]));
  const failures = failuresOf(heldFailure, replicas);
  const failedAt = Math.min(...failures.map(({ at }) => at));
  const overAt = heldFailure.heldAt + timeouts.failureHoldMs;
  const members = replicasOf(job.spec)
    .map(replicaName)
    .map((name) => evaluateMember(name, byName.get(name), { heldAt: heldFailure.heldAt, failedAt, now, timeouts }));
  const interruption = findInterruption(members, now >= overAt);
  if (interruption !== undefined) {
    return { outcome: 'FAILED', cause: interruption };
  }
  const master = byName.get(MASTER);
  if (master !== undefined && hasSucceededBefore(master, failedAt) && now < overAt + UPLOAD_GRACE_MS) {
    // The others lost their connection to a master that had finished: its exit decides, once its outputs are saved.
    return master.exit;
  }
  const isKnown = now >= overAt || members.every(({ state }) => state === 'SETTLED');
  return isKnown ? { outcome: 'FAILED', cause: causeOfFirst(job, failures, replicas) } : null;
}

function findInterruption(members: readonly MemberState[], isOver: boolean): Cause | undefined {
  const decisive: readonly MemberState['state'][] = isOver ? ['INTERRUPTED', 'STOPPING', 'UNKNOWN'] : ['INTERRUPTED'];
  for (const state of decisive) {
    const member = members.find((each) => each.state === state);
    if (member !== undefined && 'cause' in member) {
      return member.cause;
    }
  }
  return undefined;
}

function evaluateMember(
  name: string,
  replica: Replica | undefined,
  evaluation: Evaluation & { readonly heldAt: TimestampMs; readonly failedAt: TimestampMs },
): MemberState {
  if (replica === undefined) {
    return { state: 'UNKNOWN', cause: causeOf('HEARTBEAT_LOST', `Replica ${name} has no readable record.`) };
  }
  const { heldAt, failedAt, now, timeouts } = evaluation;
  if (isInterruption(replica.exit)) {
    return { state: 'INTERRUPTED', cause: replica.exit.cause };
  }
  if (hasRebooted(replica, failedAt)) {
    const message = `VM ${replica.vmName} of replica ${name} was restarted while its program was running.`;
    return { state: 'INTERRUPTED', cause: causeOf('VM_TERMINATED', message) };
  }
  if (replica.exit !== null) {
    return { state: 'SETTLED' };
  }
  if (replica.notice?.isStopping || isInterruption(replica.pendingExit)) {
    return evaluateStopping(replica, evaluation);
  }
  if (replica.endedAt !== null || replica.phase === 'UPLOADING') {
    return { state: 'SAVING' };
  }
  // Compared by the control plane's clock alone; the time of the failure is by that of a VM.
  if (replica.heardAt >= heldAt + timeouts.heartbeatDelayMs) {
    return { state: 'SETTLED' };
  }
  const seconds = Math.round((now - replica.heardAt) / 1_000);
  const message = `Replica ${name} on VM ${replica.vmName} sent no heartbeat for ${seconds} s, in which another replica failed.`;
  return { state: 'UNKNOWN', cause: causeOf('HEARTBEAT_LOST', message) };
}

/** Its own exit, which follows when its outputs are saved, says more; unless its VM must have ended by now. */
function evaluateStopping(replica: Replica, { now, timeouts }: Evaluation): MemberState {
  const { notice, pendingExit } = replica;
  const endsAt = notice?.endsAt ?? Number.POSITIVE_INFINITY;
  const reason = notice?.message ?? 'Its program was stopped.';
  const message = `Compute Engine ends VM ${replica.vmName} of replica ${replica.replica}. ${reason}`;
  const cause = isInterruption(pendingExit) ? pendingExit.cause : causeOf('PREEMPTED', message);
  return { state: now >= endsAt + timeouts.heartbeatDelayMs ? 'INTERRUPTED' : 'STOPPING', cause };
}

function isInterruption(exit: ReplicaExit | null): exit is Extract<ReplicaExit, { outcome: 'FAILED' }> {
  return exit?.outcome === 'FAILED' && classOf(exit.cause) === 'interruption';
}

/** Whether the VM was restarted while its program ran, at a time that can explain the failure. */
function hasRebooted({ rebootedAt, endedAt }: Replica, failedAt: TimestampMs): boolean {
  return (
    rebootedAt !== null && rebootedAt >= failedAt - REBOOT_EFFECT_MS_MAX && (endedAt === null || endedAt >= rebootedAt)
  );
}

function hasSucceededBefore({ exit, pendingExit, endedAt }: Replica, failedAt: TimestampMs): boolean {
  return (exit ?? pendingExit)?.outcome === 'SUCCEEDED' && endedAt !== null && endedAt < failedAt;
}

/** The replica whose failure is the cause, among those of the current attempt. */
export function findFirstFailed(job: HoldingJob, replicas: readonly Replica[]): string {
  return firstOf(failuresOf(job.heldFailure, replicas)).replica;
}
