import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { closeWith, recordAttempt } from '#shared/domain/closing.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  type Deadlines,
  INTERRUPTIONS_BEFORE_RUNNING_MAX,
  interruptionBackoffMs,
  SETTLED_RUN_MS,
} from '#shared/domain/deadlines.ts';
import type { EventOf, Transition } from '#shared/domain/event.ts';
import { type Job, type JobIn, type PlacedJob, replicaName, type TimestampMs } from '#shared/domain/job.ts';
import { exceededTimeOf, provision, runningExceeded } from '#shared/domain/placing.ts';
import { common, ignore, isCurrentTry, move } from '#shared/domain/rule.ts';

type Moment = { readonly at: TimestampMs; readonly deadlines: Deadlines };

/** Compute Engine has all VMs; from here they have the boot deadline to report. */
export function noteInstances(job: PlacedJob, event: EventOf<'VMS_CREATED'>, deadlines: Deadlines): Transition {
  if (!isCurrentTry(job, event) || job.instances.length > 0) {
    return ignore(job);
  }
  const placed = { ...job, instances: event.instances };
  return move(job, job.status === 'PREPARING' ? { ...placed, wakeAt: event.at + deadlines.bootMs } : placed);
}

/** The job runs when its master does. */
export function startRunning(
  job: JobIn<'PREPARING'>,
  event: EventOf<'REPLICA_STARTED'>,
  deadlines: Deadlines,
): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER) {
    return ignore(job);
  }
  const firstRanAt = job.firstRanAt ?? event.at;
  return move(job, {
    ...job,
    status: 'RUNNING',
    ranAt: event.at,
    firstRanAt,
    waitingFor: null,
    counts: { ...job.counts, bootFailuresInRow: 0 },
    wakeAt: firstRanAt + job.spec.limits.maxRunningMs + deadlines.maxRunningGraceMs,
  });
}

const MASTER = replicaName({ role: 'master', index: 0 });

/** The master's end decides; another replica's failure ends the attempt, its success nothing. */
export function meetExit(job: PlacedJob, event: EventOf<'REPLICA_EXITED'>, deadlines: Deadlines): Transition {
  const { at, exit } = event;
  if (event.attempt !== job.attempt || (exit.outcome === 'SUCCEEDED' && event.replica !== MASTER)) {
    return ignore(job);
  }
  if (exit.outcome === 'SUCCEEDED') {
    return closeWith(job, { state: 'SUCCEEDED', cause: null }, { at, deadlines });
  }
  if (classOf(exit.cause) === 'interruption') {
    return interrupt(job, exit.cause, { at, deadlines });
  }
  const isRestart = classOf(exit.cause) === 'user' && job.counts.restarts < job.spec.limits.restartsMax;
  const isFinal = !isRestart || exit.cause.code === 'MAX_RUNNING_TIME_EXCEEDED';
  const counts = { ...job.counts, restarts: job.counts.restarts + 1, interruptionsInRow: 0 };
  return isFinal
    ? closeWith(job, { state: 'FAILED', cause: exit.cause }, { at, deadlines })
    : beginAttempt({ ...job, counts }, exit.cause, { at, deadlines });
}

/** The VMs were lost and the program was not at fault: a new attempt, which fences off this one. */
export function meetInterruption(
  job: PlacedJob,
  event: EventOf<'ATTEMPT_INTERRUPTED'>,
  deadlines: Deadlines,
): Transition {
  return event.attempt === job.attempt ? interrupt(job, event.cause, { at: event.at, deadlines }) : ignore(job);
}

function interrupt(job: PlacedJob, cause: Cause, moment: Moment): Transition {
  const hasSettled = job.status === 'RUNNING' && moment.at - job.ranAt >= SETTLED_RUN_MS;
  const interruptionsInRow = hasSettled ? 1 : job.counts.interruptionsInRow + 1;
  if (job.firstRanAt === null && interruptionsInRow > INTERRUPTIONS_BEFORE_RUNNING_MAX) {
    const message = `${interruptionsInRow} attempts in a row were interrupted before the job ran, the last: ${cause.message}`;
    const last = causeOf('BOOT_FAILED_REPEATEDLY', message, cause.evidence);
    return closeWith(job, { state: 'FAILED', cause: last }, moment);
  }
  const counts = { ...job.counts, interruptions: job.counts.interruptions + 1, interruptionsInRow };
  return beginAttempt({ ...job, counts }, cause, moment);
}

function beginAttempt(job: PlacedJob, cause: Cause, { at, deadlines }: Moment): Transition {
  const backoffMs = interruptionBackoffMs(job.counts.interruptionsInRow);
  const next: Job = {
    ...common(job),
    attempt: job.attempt + 1,
    placementTry: 1,
    refusedZones: [],
    ledger: recordAttempt(job, at, cause),
    waitingFor: cause,
    status: 'QUEUED',
    isBackingOff: backoffMs > 0,
    wakeAt: at + (backoffMs > 0 ? backoffMs : deadlines.provisionAnswerMs),
  };
  const effects = [{ type: 'TEARDOWN', jobId: job.jobId } as const];
  return move(job, next, next.isBackingOff ? effects : [...effects, provision(next)]);
}

/** No answer from Compute Engine is asked for again; no word from VMs that exist is a boot failure. */
export function preparingTooLong(
  job: JobIn<'PREPARING'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  deadlines: Deadlines,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  const timeIsOver = exceededTimeOf(job, at);
  if (timeIsOver !== null) {
    return closeWith(job, { state: 'FAILED', cause: timeIsOver }, { at, deadlines });
  }
  if (job.instances.length === 0 && at < job.placedAt + deadlines.bootMs) {
    return { job: { ...job, wakeAt: at + deadlines.provisionAnswerMs }, effects: [provision(job)] };
  }
  return bootFailed(job, { at, deadlines });
}

function bootFailed(job: JobIn<'PREPARING'>, moment: Moment): Transition {
  const minutes = moment.deadlines.bootMs / 60_000;
  const where = `in ${job.placement.zone} from machine image ${job.placement.machineImage}`;
  const bootFailuresInRow = job.counts.bootFailuresInRow + 1;
  if (bootFailuresInRow >= BOOT_FAILURES_IN_ROW_MAX) {
    const message = `${bootFailuresInRow} attempts in a row never reported, the last ${where}.`;
    return closeWith(job, { state: 'FAILED', cause: causeOf('BOOT_FAILED_REPEATEDLY', message) }, moment);
  }
  const cause = causeOf('VM_BOOT_TIMED_OUT', `The VMs ${where} did not report within ${minutes} min.`);
  return interrupt({ ...job, counts: { ...job.counts, bootFailuresInRow } }, cause, moment);
}

/** The agent should have stopped the program by itself; when it did not, the control plane does. */
export function runningTooLong(
  job: JobIn<'RUNNING'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  deadlines: Deadlines,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  return closeWith(job, { state: 'FAILED', cause: runningExceeded(job) }, { at, deadlines });
}
