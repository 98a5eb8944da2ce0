import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { closeWith, recordAttempt } from '#shared/domain/closing.ts';
import type { EventOf, Transition } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  type Job,
  type JobIn,
  type PlacedJob,
  remainingRunningMs,
  replicaName,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { isWaitOver, nextWakeAt, provision, waitExceeded } from '#shared/domain/placing.ts';
import { common, ignore, isCurrentRound, move } from '#shared/domain/rule.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  INTERRUPTIONS_IN_ROW_MAX,
  interruptionBackoffMs,
  SETTLED_RUN_MS,
  SETUP_MS_MAX,
  type Timeouts,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';

type Moment = { readonly at: TimestampMs; readonly timeouts: Timeouts };

/** The replica whose way decides the job's. */
export const MASTER = replicaName({ role: 'master', index: 0 });

/** Compute Engine will start the VM when it can: it is looked after from time to time, and at the VM's first word. */
export function onVmsPending(
  job: JobIn<'PREPARING'>,
  { at, until, ...about }: EventOf<'VMS_PENDING'>,
  timeouts: Timeouts,
): Transition {
  if (!isCurrentRound(job, about) || job.instances.length > 0 || job.pendingUntil !== null) {
    return ignore(job);
  }
  const { zone } = job.placement;
  const minutes = Math.round((until - at) / 60_000);
  const message = `Compute Engine has no room in ${zone} now; it starts the VM when it has, and gives up after ${minutes} min.`;
  return move(job, {
    ...job,
    pendingUntil: until,
    counts: { ...job.counts, givenUpInRow: 0 },
    waitingFor: causeOf('CAPACITY_PENDING', message),
    wakeAt: nextWakeAt(job, at, timeouts.pendingMs),
  });
}

/** Compute Engine has all VMs; from here they have the boot deadline to report. Those that were pending cost from now on. */
export function onVmsCreated(
  job: JobIn<'PREPARING'>,
  { at, instances, ...about }: EventOf<'VMS_CREATED'>,
  timeouts: Timeouts,
): Transition {
  if (!isCurrentRound(job, about) || job.instances.length > 0) {
    return ignore(job);
  }
  const waitMs = job.reportedAt === null ? timeouts.bootMs : SETUP_MS_MAX;
  const hasWaited = job.pendingUntil !== null && { pendingUntil: null, placedAt: at, waitingFor: null };
  const counts = { ...job.counts, givenUpInRow: 0 };
  return move(job, { ...job, ...hasWaited, counts, instances, wakeAt: nextWakeAt(job, at, waitMs) });
}

/**
 * The master has spoken, so its VM has booted: how long it installs is the lease's business, up to the longest setup.
 * While Compute Engine has not answered for all VMs, the others may not exist: then the deadline of that answer stays.
 * A VM that was pending tells by this that it is so no longer.
 */
export function onReplicaReported(job: JobIn<'PREPARING'>, { at, ...event }: EventOf<'REPLICA_REPORTED'>): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER || job.reportedAt !== null) {
    return ignore(job);
  }
  const wakeAt = job.instances.length === 0 ? job.wakeAt : nextWakeAt(job, at, SETUP_MS_MAX);
  return move(job, { ...job, reportedAt: at, wakeAt }, job.pendingUntil === null ? [] : [provision(job)]);
}

/** The job runs when its master does, but not before all its VMs exist: a cluster comes up whole or not at all. */
export function startRunning(
  job: JobIn<'PREPARING'>,
  event: EventOf<'REPLICA_STARTED'>,
  timeouts: Timeouts,
): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER || job.instances.length === 0) {
    return ignore(job);
  }
  const { placement, instances, placedAt } = job;
  return move(job, {
    ...common(job),
    placement,
    instances,
    placedAt,
    status: 'RUNNING',
    ranAt: event.at,
    uploadingAt: null,
    firstRanAt: job.firstRanAt ?? event.at,
    waitingFor: null,
    wakeAt: event.at + remainingRunningMs(job) + timeouts.maxRunningGraceMs,
  });
}

/** The master's program is over; what it has made is not thrown away because saving it outlasts maxRunningTime. */
export function onReplicaUploading(job: JobIn<'RUNNING'>, event: EventOf<'REPLICA_UPLOADING'>): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER || job.uploadingAt !== null) {
    return ignore(job);
  }
  return move(job, { ...job, uploadingAt: event.at, wakeAt: job.wakeAt + UPLOAD_GRACE_MS });
}

/**
 * The master's end decides; another replica's failure ends the attempt, its success nothing. A success before all VMs
 * are known to exist is none: agents wait for that, so this one has trained with a part of its cluster at most.
 */
export function onReplicaExited(job: PlacedJob, event: EventOf<'REPLICA_EXITED'>, timeouts: Timeouts): Transition {
  const { at, exit } = event;
  if (event.attempt !== job.attempt || (exit.outcome === 'SUCCEEDED' && event.replica !== MASTER)) {
    return ignore(job);
  }
  if (exit.outcome === 'SUCCEEDED' && !allReplicasCreated(job)) {
    const message = `The master of job ${job.jobId} ended before all of its machines were known to exist.`;
    return interrupt(job, causeOf('CLUSTER_INCOMPLETE', message), { at, timeouts });
  }
  if (exit.outcome === 'SUCCEEDED') {
    return closeWith(job, { state: 'SUCCEEDED', cause: null }, { at, timeouts });
  }
  if (classOf(exit.cause) === 'interruption') {
    return interrupt(job, exit.cause, { at, timeouts });
  }
  const isRestart = classOf(exit.cause) === 'user' && job.counts.restarts < job.spec.limits.restartsMax;
  const isFinal = !isRestart || exit.cause.code === 'MAX_RUNNING_TIME_EXCEEDED';
  const { restarts } = job.counts;
  const counts = { ...job.counts, restarts: restarts + 1, interruptionsInRow: 0, bootFailuresInRow: 0 };
  return isFinal
    ? closeWith(job, { state: 'FAILED', cause: exit.cause }, { at, timeouts })
    : beginAttempt({ ...job, counts }, exit.cause, { at, timeouts });
}

/** The VMs were lost and the program was not at fault: a new attempt, which fences off this one. */
export function onInterrupted(job: PlacedJob, event: EventOf<'ATTEMPT_INTERRUPTED'>, timeouts: Timeouts): Transition {
  return event.attempt === job.attempt ? interrupt(job, event.cause, { at: event.at, timeouts }) : ignore(job);
}

function interrupt(job: PlacedJob, cause: Cause, moment: Moment): Transition {
  const hasSettled = job.status === 'RUNNING' && moment.at - job.ranAt >= SETTLED_RUN_MS;
  const interruptionsInRow = hasSettled ? 1 : job.counts.interruptionsInRow + 1;
  const bootFailuresInRow = cause.code === 'VM_BOOT_TIMED_OUT' ? job.counts.bootFailuresInRow + 1 : 0;
  if (bootFailuresInRow >= BOOT_FAILURES_IN_ROW_MAX) {
    const message = `${bootFailuresInRow} attempts in a row had a VM that never reported, the last: ${cause.message}`;
    const last = causeOf('BOOT_FAILED_REPEATEDLY', message, cause.evidence);
    return closeWith(job, { state: 'FAILED', cause: last }, moment);
  }
  if (interruptionsInRow > INTERRUPTIONS_IN_ROW_MAX) {
    const message = `${interruptionsInRow} attempts in a row were interrupted before they ran, the last: ${cause.message}`;
    const last = causeOf('INTERRUPTED_REPEATEDLY', message, cause.evidence);
    return closeWith(job, { state: 'FAILED', cause: last }, moment);
  }
  const interruptions = job.counts.interruptions + 1;
  const counts = { ...job.counts, interruptions, interruptionsInRow, bootFailuresInRow };
  return beginAttempt({ ...job, counts }, cause, moment);
}

function beginAttempt(job: PlacedJob, cause: Cause, { at, timeouts }: Moment): Transition {
  const ranMs = job.ranMs + (job.status === 'RUNNING' ? Math.max(0, at - job.ranAt) : 0);
  if (remainingRunningMs({ ranMs, spec: job.spec }) === 0) {
    return closeWith(job, { state: 'FAILED', cause: runningExceeded(job, [cause.message]) }, { at, timeouts });
  }
  const backoffMs = interruptionBackoffMs(job.counts.interruptionsInRow);
  const next: Job = {
    ...common(job),
    ranMs,
    attempt: job.attempt + 1,
    placementTry: 1,
    refusedZones: [],
    ledger: recordAttempt(job, at, cause),
    waitingFor: cause,
    status: 'QUEUED',
    isBackingOff: backoffMs > 0,
    wakeAt: at + (backoffMs > 0 ? backoffMs : timeouts.provisionAnswerMs),
  };
  const effects = [{ type: 'TEARDOWN', jobId: job.jobId } as const];
  return move(job, next, next.isBackingOff ? effects : [...effects, provision(next)]);
}

/** No answer from Compute Engine is asked for again; no word from VMs that exist is a boot failure. */
export function onPreparingDeadlinePassed(
  job: JobIn<'PREPARING'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  if (isWaitOver(job, at)) {
    return closeWith(job, { state: 'FAILED', cause: waitExceeded(job) }, { at, timeouts });
  }
  const hasVms = job.instances.length > 0;
  if (!hasVms && at < (job.pendingUntil ?? job.placedAt) + timeouts.bootMs) {
    const askAgainMs = job.pendingUntil === null ? timeouts.provisionAnswerMs : timeouts.pendingMs;
    return { job: { ...job, wakeAt: nextWakeAt(job, at, askAgainMs) }, effects: [provision(job)] };
  }
  if (hasVms && job.reportedAt !== null) {
    const message = `Job ${job.jobId} was still setting up ${SETUP_MS_MAX / 60_000} min after its master had reported.`;
    return closeWith(job, { state: 'FAILED', cause: causeOf('SETUP_TIMED_OUT', message) }, { at, timeouts });
  }
  const where = `in ${job.placement.zone} from machine image ${job.placement.machineImage}`;
  const message = `The VMs ${where} did not report within ${timeouts.bootMs / 60_000} min.`;
  return interrupt(job, causeOf('VM_BOOT_TIMED_OUT', message), { at, timeouts });
}

/** The agent should have stopped the program by itself; when it did not, the control plane does. */
export function onRunningDeadlinePassed(
  job: JobIn<'RUNNING'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  const evidence = job.uploadingAt === null ? [] : ['The program was over, but its outputs were still being saved.'];
  return closeWith(job, { state: 'FAILED', cause: runningExceeded(job, evidence) }, { at, timeouts });
}

function runningExceeded({ jobId, spec }: Job, evidence: readonly string[]): Cause {
  const message = `Job ${jobId} ran longer than its maxRunningTime of ${spec.limits.maxRunningMs / 1_000} s.`;
  return causeOf('MAX_RUNNING_TIME_EXCEEDED', message, evidence);
}
