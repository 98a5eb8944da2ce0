import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { describeStart } from '#shared/domain/cluster-start.ts';
import { type HeldFailure, MASTER, type PlacedJob, type TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { FOLLOWING_FAILURE_MS_MAX } from '#shared/domain/timeouts.ts';

export type Failure = { readonly replica: string; readonly cause: Cause; readonly at: TimestampMs };

/** The failures of the attempt's programs, by the time at which each program ended. */
export function failuresOf(held: HeldFailure, replicas: readonly Replica[]): readonly Failure[] {
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
 * The cause of the replica that failed first, with its diagnosis, the replica and the rank. If that one only lost or
 * never had its connection to another one, the cause is the replica that had not started, or had ended without an
 * error.
 */
export function causeOfFirst(job: PlacedJob, failures: readonly Failure[], replicas: readonly Replica[]): Cause {
  const { replica, cause, at } = firstOf(failures);
  const others = failures.length - 1;
  const following = others === 0 ? '' : ` ${others === 1 ? 'Another replica' : `${others} others`} failed after it.`;
  const hasLost = hasLostConnection(cause);
  const rank = hasLost ? null : findRank(cause);
  const name = rank === null ? replica : `${replica} (rank ${rank})`;
  const message = `Replica ${name} failed first: ${cause.message}${following}`;
  if (hasLost) {
    const unstarted = job.status === 'PREPARING' ? describeStart(job, replicas) : null;
    if (unstarted !== null) {
      return causeOf('REPLICA_NOT_STARTED', `Not all programs had started: ${unstarted}. ${message}`, cause.evidence);
    }
    const early = findEndedEarly(replicas, at);
    if (early !== undefined) {
      const lead = `The program of ${early.replica} ended with exit code 0, and others lost their connection to it.`;
      return causeOf('REPLICA_ENDED_EARLY', `${lead} ${message}`, cause.evidence);
    }
  }
  return { ...cause, ...causeOf(cause.code, message, cause.evidence) };
}

/** The last replica besides the master that succeeded before the first failure, as far as the order is certain. */
function findEndedEarly(replicas: readonly Replica[], at: TimestampMs): Replica | undefined {
  return replicas
    .filter(({ replica, exit, pendingExit, endedAt }) => {
      const hasSucceeded = (exit ?? pendingExit)?.outcome === 'SUCCEEDED';
      return replica !== MASTER && hasSucceeded && endedAt !== null && endedAt <= at + FOLLOWING_FAILURE_MS_MAX;
    })
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
    .at(-1);
}

/**
 * Among failures within FOLLOWING_FAILURE_MS_MAX of the first, whose order is not certain, one that lost its connection
 * is not the first.
 */
export function firstOf(failures: readonly Failure[]): Failure {
  const earliest = Math.min(...failures.map(({ at }) => at));
  const near = failures.filter(({ at }) => at - earliest <= FOLLOWING_FAILURE_MS_MAX);
  const [first] = [...near.filter(({ cause }) => !hasLostConnection(cause)), ...near];
  if (first === undefined) {
    throw new Error('A held failure is always among the failures.');
  }
  return first;
}

/**
 * Last lines of PyTorch (NCCL, Gloo), TensorFlow (gRPC) and JAX when another process of the cluster has ended, or has
 * not come up in time.
 */
const CONNECTION_LOSS =
  /connection (was )?(closed|reset|refused|aborted|lost|timed out)|broken pipe|socket (is )?closed|by peer|peer (closed|disconnected)|DistNetworkError|DistBackendError|DistStoreError|NCCL|Gloo|UNAVAILABLE|DEADLINE_EXCEEDED|barrier timed out|coordination service|remote process|waiting for clients|\bTimeoutError\b/i;
const LAST_LINES = 5;

/** The lines of torchrun about a process that it has started, which follow what that process printed. */
const LAUNCHER =
  /failed \(exitcode: -?\d+\) local_rank|\bChildFailedError\b|\btorch[/.]distributed[/.](run|launcher|elastic)\b/;

/** An exception as PyTorch prints it, behind the rank of its process. */
const RANKED_EXCEPTION = /^\[rank(\d{1,6})\]: [\w.]*(?:Error|Exception)\b/;

/** Whether each process of the replica that raised an exception lost its connection, and none was ended by a signal. */
function hasLostConnection({ evidence }: Cause): boolean {
  const raised = evidence.filter((line) => RANKED_EXCEPTION.test(line));
  if (raised.length > 0) {
    const wasKilled = rootCauseOf(evidence).some((line) => /^\s*exitcode\s*: -(?!15\b)\d/.test(line));
    return !wasKilled && raised.every((line) => CONNECTION_LOSS.test(line));
  }
  const launcher = evidence.findIndex((line) => LAUNCHER.test(line));
  const own = launcher > 0 ? evidence.slice(0, launcher) : evidence;
  return own.slice(-LAST_LINES).some((line) => CONNECTION_LOSS.test(line));
}

/** The lines in which torchrun describes the process of its VM that failed first. */
function rootCauseOf(evidence: readonly string[]): readonly string[] {
  const start = evidence.findIndex((line) => /^\s*Root Cause \(first observed failure\)/.test(line));
  return start === -1 ? [] : evidence.slice(start);
}

/** The rank of the process that failed first in the replica, by torchrun or PyTorch; null if neither names one. */
function findRank({ evidence }: Cause): string | null {
  const observed = rootCauseOf(evidence).map((line) => /^\s*rank\s*: (\d{1,6}) \(local_rank/.exec(line)?.[1]);
  const raised = evidence.filter((line) => !CONNECTION_LOSS.test(line)).map((line) => RANKED_EXCEPTION.exec(line)?.[1]);
  return [...observed, ...raised].find((rank) => rank !== undefined) ?? null;
}
