import type { Transition } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import { type JobIn, MASTER } from '#shared/domain/job.ts';
import { failJob } from '#shared/domain/rules/close.ts';
import { endOrHold, interruptUnlessFinished, recheckHeldFailure } from '#shared/domain/rules/holding.ts';
import { maxRunningTimeExceeded } from '#shared/domain/rules/limits.ts';
import { ignore, move } from '#shared/domain/rules/rule.ts';
import { closeStopped, endStopped, isStopping } from '#shared/domain/rules/stopping.ts';
import { type Timeouts, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';

type Running = JobIn<'RUNNING'>;

/** The master's program has exited: uploading its outputs may outlast maxRunningTime, so that they are not lost. */
export function onReplicaUploading(job: Running, event: EventOf<'REPLICA_UPLOADING'>): Transition {
  if (event.replica !== MASTER || job.uploadingAt !== null) {
    return ignore(job);
  }
  const keepsDeadline = job.heldFailure !== null || isStopping(job);
  const wakeAt = keepsDeadline ? job.wakeAt : job.wakeAt + UPLOAD_GRACE_MS;
  return move(job, { ...job, uploadingAt: event.at, wakeAt });
}

/**
 * The master's exit decides; the failure of another replica ends the attempt too, and its success changes nothing. In a
 * cluster, a failure is held until it is known whether another replica was interrupted.
 */
export function onReplicaExited(job: Running, event: EventOf<'REPLICA_EXITED'>, timeouts: Timeouts): Transition {
  const { at, exit, replica } = event;
  if (exit.outcome === 'SUCCEEDED' && replica !== MASTER) {
    return ignore(job);
  }
  return isStopping(job) ? endStopped(job, event, { at, timeouts }) : endOrHold(job, event, { at, timeouts });
}

/** A VM was lost: a new attempt resumes from the last checkpoint; a job that is stopping early has what it has. */
export function onInterrupted(
  job: Running,
  { at, cause }: EventOf<'ATTEMPT_INTERRUPTED'>,
  timeouts: Timeouts,
): Transition {
  return isStopping(job) ? closeStopped(job, { at, timeouts }) : interruptUnlessFinished(job, cause, { at, timeouts });
}

/** The agent stops the program when it is asked to, or at maxRunningTime; the control plane ends the job if it has not. */
export function onDeadlinePassed(job: Running, { at }: EventOf<'DEADLINE_PASSED'>, timeouts: Timeouts): Transition {
  if (isStopping(job)) {
    return closeStopped(job, { at, timeouts });
  }
  if (job.heldFailure !== null) {
    return recheckHeldFailure(job, at, timeouts);
  }
  const evidence =
    job.uploadingAt === null ? [] : ['The program had exited, but its outputs were still being uploaded.'];
  return failJob(job, maxRunningTimeExceeded(job, evidence), { at, timeouts });
}
