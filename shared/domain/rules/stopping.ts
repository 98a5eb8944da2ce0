import { causeOf, classOf } from '#shared/domain/cause.ts';
import type { Transition } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import { type JobIn, MASTER, replicasOf } from '#shared/domain/job.ts';
import { closeJob, failJob } from '#shared/domain/rules/close.ts';
import { ignore, type Moment, move } from '#shared/domain/rules/rule.ts';
import { PROGRAM_STOP_MS_MAX, type Timeouts, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';

type Running = JobIn<'RUNNING'>;

/** A job whose program was asked to end before its own end. From then on, no failure is held and nothing restarts. */
export type StoppingJob = Running & { readonly stopRequestedAt: number };

export function isStopping(job: Running): job is StoppingJob {
  return job.stopRequestedAt !== null;
}

/**
 * The next heartbeats are answered STOP: the program has PROGRAM_STOP_MS_MAX to end and UPLOAD_GRACE_MS to save its
 * outputs, unless maxRunningTime ends it sooner. A failure that is held no longer matters: the job succeeds with what
 * it has.
 */
export function onStopRequested(job: Running, { at }: EventOf<'STOP_REQUESTED'>): Transition {
  if (isStopping(job)) {
    return ignore(job);
  }
  const latest = at + PROGRAM_STOP_MS_MAX + UPLOAD_GRACE_MS;
  const wakeAt = job.heldFailure === null ? Math.min(job.wakeAt, latest) : latest;
  return move(job, { ...job, stopRequestedAt: at, heldFailure: null, wakeAt });
}

/** There is no program to stop: the job ends now, with the outputs of earlier attempts if there were any. */
export function onStopRequestedWhileWaiting(
  job: JobIn<'QUEUED'> | JobIn<'PREPARING'>,
  { at }: EventOf<'STOP_REQUESTED'>,
  timeouts: Timeouts,
): Transition {
  if (job.firstRanAt !== null) {
    return closeJob(job, STOPPED_EARLY, { at, timeouts });
  }
  const cause = causeOf('TRIAL_STOPPED', `Job ${job.jobId} was stopped before its program ran.`);
  return closeJob(job, { state: 'CANCELLED', cause }, { at, timeouts });
}

const STOPPED_EARLY = { state: 'SUCCEEDED', cause: null, isStoppedEarly: true } as const;

export function closeStopped(job: StoppingJob, moment: Moment): Transition {
  return closeJob(job, STOPPED_EARLY, moment);
}

/**
 * The master's exit ends the job, which succeeds: a program that is stopped exits in any way, and an interruption comes
 * to the same. But it fails with a failure that the stop cannot have caused. Exits of others follow from the stop.
 */
export function endStopped(job: StoppingJob, event: EventOf<'REPLICA_EXITED'>, moment: Moment): Transition {
  if (event.replica !== MASTER) {
    return ignore(job);
  }
  const { exit } = event;
  if (exit.outcome === 'FAILED' && !isByStop(job, event)) {
    return failJob(job, exit.cause, moment);
  }
  return closeStopped(job, moment);
}

function isByStop(job: StoppingJob, { exit, endedAt, at }: EventOf<'REPLICA_EXITED'>): boolean {
  if (exit.outcome === 'SUCCEEDED' || classOf(exit.cause) === 'interruption') {
    return true;
  }
  // In a cluster, an earlier failure can follow from the interruption of another replica.
  const isLater = (endedAt ?? at) >= job.stopRequestedAt || replicasOf(job.spec).length > 1;
  return classOf(exit.cause) === 'user' && isLater;
}
