import { type Cause, type CauseCode, causeOf, classOf } from '#shared/domain/cause.ts';
import type { Transition } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import { isHolding } from '#shared/domain/held-failure.ts';
import { allReplicasCreated, type PlacedJob, replicasOf, type TimestampMs } from '#shared/domain/job.ts';
import { closeJob } from '#shared/domain/rules/close.ts';
import { endAttempt, interruptAttempt } from '#shared/domain/rules/new-attempt.ts';
import { ignore, type Moment } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

/** Failures of class `user` that the loss of another replica cannot cause. */
const OWN_FAILURES: readonly CauseCode[] = [
  'MAX_RUNNING_TIME_EXCEEDED',
  'INSTALL_FAILED',
  'SETUP_TIMED_OUT',
  'METRIC_NOT_FINITE',
  'TRAINING_DIVERGED',
];

/**
 * Ends the attempt with a replica's exit. The failure of a program in a cluster is held instead: a program also fails
 * when it loses the connection to a replica that was interrupted, and its exit often arrives first. While a failure is
 * held, further failures change nothing, and only the success of a master that ended before it ends the attempt.
 */
export function endOrHold(job: PlacedJob, event: EventOf<'REPLICA_EXITED'>, moment: Moment): Transition {
  const { exit, at, replica } = event;
  const endedAt = event.endedAt ?? at;
  const isHeld = isHolding(job);
  if (exit.outcome === 'SUCCEEDED') {
    return isHeld && endedAt >= job.heldFailure.failedAt ? recordSuccess(job) : endAttempt(job, event, moment);
  }
  const named = nameReplica(job, exit.cause, replica);
  if (classOf(exit.cause) === 'interruption') {
    return interruptUnlessFinished(job, named, moment);
  }
  if (!isHoldable(job, exit.cause)) {
    return endAttempt(job, { replica, exit: { ...exit, cause: named } }, moment);
  }
  if (isHeld) {
    return ignore(job);
  }
  const heldFailure = { replica, cause: exit.cause, failedAt: endedAt, heldAt: at, hasMasterSucceeded: false };
  return { job: { ...job, heldFailure, wakeAt: at + moment.timeouts.heartbeatDelayMs }, effects: [] };
}

/** The cause with the replica of a cluster in its message. */
function nameReplica({ spec }: PlacedJob, cause: Cause, replica: string): Cause {
  return replicasOf(spec).length === 1 || cause.message.includes(replica)
    ? cause
    : { ...cause, ...causeOf(cause.code, `Replica ${replica}: ${cause.message}`, cause.evidence) };
}

function recordSuccess(job: PlacedJob): Transition {
  return job.heldFailure === null || job.heldFailure.hasMasterSucceeded
    ? ignore(job)
    : { job: { ...job, heldFailure: { ...job.heldFailure, hasMasterSucceeded: true } }, effects: [] };
}

function isHoldable(job: PlacedJob, cause: Cause): boolean {
  const isOfProgram = classOf(cause) === 'user' && !OWN_FAILURES.includes(cause.code);
  return isOfProgram && replicasOf(job.spec).length > 1 && allReplicasCreated(job);
}

/** A held failure is decided: the other replicas are known to be alive, one of them is lost, or the time is over. */
export function onHeldFailureResolved(
  job: PlacedJob,
  { at, exit, replica }: EventOf<'HELD_FAILURE_RESOLVED'>,
  timeouts: Timeouts,
): Transition {
  if (job.heldFailure === null) {
    return ignore(job);
  }
  return exit.outcome === 'FAILED' && classOf(exit.cause) === 'interruption'
    ? interruptUnlessFinished(job, exit.cause, { at, timeouts })
    : endAttempt(job, { exit, replica }, { at, timeouts });
}

/** Interrupts the attempt; but a training whose master succeeded while a failure was held is finished. */
export function interruptUnlessFinished(job: PlacedJob, cause: Cause, moment: Moment): Transition {
  return job.heldFailure?.hasMasterSucceeded
    ? closeJob(job, { state: 'SUCCEEDED', cause: null }, moment)
    : interruptAttempt(job, cause, moment);
}

/** The reconciler evaluates a held failure whenever the job's deadline passes, so that the deadline moves forward. */
export function recheckHeldFailure(job: PlacedJob, at: TimestampMs, { heartbeatDelayMs }: Timeouts): Transition {
  return { job: { ...job, wakeAt: at + heartbeatDelayMs }, effects: [] };
}
