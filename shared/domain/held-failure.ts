import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import {
  type HeldFailure,
  MASTER,
  type PlacedJob,
  replicaName,
  replicasOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import type { Replica, ReplicaExit } from '#shared/domain/replica.ts';
import {
  FOLLOWING_FAILURE_MS_MAX,
  REBOOT_EFFECT_MS_MAX,
  type Timeouts,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';

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

type Failure = { readonly replica: string; readonly cause: Cause; readonly at: TimestampMs };

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
  return isKnown ? { outcome: 'FAILED', cause: causeOfFirst(failures) } : null;
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

/** The failures of the attempt's programs, by the time at which each program ended. */
function failuresOf(held: HeldFailure, replicas: readonly Replica[]): readonly Failure[] {
  const failures = new Map([[held.replica, { replica: held.replica, cause: held.cause, at: held.failedAt }]]);
  for (const { replica, exit, pendingExit, endedAt, heardAt } of replicas) {
    const ended = exit ?? pendingExit;
    if (ended?.outcome === 'FAILED' && classOf(ended.cause) === 'user') {
      failures.set(replica, { replica, cause: ended.cause, at: endedAt ?? heardAt });
    }
  }
  return [...failures.values()].sort((a, b) => a.at - b.at);
}

/**
 * The cause of the replica that failed first, with its diagnosis. Among failures within FOLLOWING_FAILURE_MS_MAX of the
 * first, whose order is not certain, one that lost its connection is not the first.
 */
function causeOfFirst(failures: readonly Failure[]): Cause {
  const { replica, cause } = firstOf(failures);
  const others = failures.length - 1;
  const following = others === 0 ? '' : ` ${others === 1 ? 'Another replica' : `${others} others`} failed after it.`;
  const named = causeOf(cause.code, `Replica ${replica} failed first: ${cause.message}${following}`, cause.evidence);
  return { ...cause, ...named };
}

/** The replica whose failure is the cause, among those of the current attempt. */
export function findFirstFailed(job: HoldingJob, replicas: readonly Replica[]): string {
  return firstOf(failuresOf(job.heldFailure, replicas)).replica;
}

function firstOf(failures: readonly Failure[]): Failure {
  const earliest = Math.min(...failures.map(({ at }) => at));
  const near = failures.filter(({ at }) => at - earliest <= FOLLOWING_FAILURE_MS_MAX);
  const [first] = [...near.filter(({ cause }) => !hasLostConnection(cause)), ...near];
  if (first === undefined) {
    throw new Error('A held failure is always among the failures.');
  }
  return first;
}

/** Last lines of PyTorch (NCCL, Gloo), TensorFlow (gRPC) and JAX when another process of the cluster has ended. */
const CONNECTION_LOSS =
  /connection (was )?(closed|reset|refused|aborted|lost|timed out)|broken pipe|socket (is )?closed|by peer|peer (closed|disconnected)|DistNetworkError|DistBackendError|NCCL|Gloo|UNAVAILABLE|coordination service|remote process/i;
const LAST_LINES = 5;

function hasLostConnection({ evidence }: Cause): boolean {
  return evidence.slice(-LAST_LINES).some((line) => CONNECTION_LOSS.test(line));
}
