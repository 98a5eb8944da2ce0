import { type Cause, causeOf, classOf } from '#shared/domain/cause.ts';
import { provisionOf, type Transition, teardownOf } from '#shared/domain/effect.ts';
import { endOfRecovery, HEALTH_ENDS } from '#shared/domain/health-cause.ts';
import { billedSince, type Job, type PlacedJob, remainingRunningMs, replicasOf } from '#shared/domain/job.ts';
import type { ReplicaExit } from '#shared/domain/replica.ts';
import { closeJob, countEnded, failJob, recordAttempt } from '#shared/domain/rules/close.ts';
import { failAndKeep, isWorthKeeping } from '#shared/domain/rules/keeping.ts';
import { hostUnreachable, maxRunningTimeExceeded, recordDenial } from '#shared/domain/rules/limits.ts';
import { commonFields, type Moment, move } from '#shared/domain/rules/rule.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  INTERRUPTIONS_IN_ROW_MAX,
  interruptionBackoffMs,
  PERIMETER_RETRY_MS,
  STABLE_RUN_MS,
} from '#shared/domain/timeouts.ts';

/** How an attempt ends, and the replica whose exit decided that. */
export type AttemptEnd = { readonly exit: ReplicaExit; readonly replica: string };

/**
 * Ends the attempt with a replica's exit: the job succeeds, fails, or starts a new attempt, by the class of the cause.
 */
export function endAttempt(job: PlacedJob, { exit, replica }: AttemptEnd, moment: Moment): Transition {
  if (exit.outcome === 'SUCCEEDED') {
    return closeJob(job, { state: 'SUCCEEDED', cause: null }, moment);
  }
  const { cause } = exit;
  if (classOf(cause) === 'interruption') {
    return interruptAttempt(job, cause, moment);
  }
  // A program that has run would run again, and be denied at its end again.
  const denied = job.status === 'PREPARING' ? recordDenial(job, cause, moment.at) : null;
  if (denied !== null) {
    return startNewAttempt(denied, cause, { ...moment, backoffMs: PERIMETER_RETRY_MS });
  }
  if (!canRestart(job, cause)) {
    return isWorthKeeping(job, cause) ? failAndKeep(job, { cause, replica }, moment) : failJob(job, cause, moment);
  }
  const restarts = job.counts.restarts + 1;
  const counts = { ...job.counts, restarts, interruptionsInRow: 0, bootFailuresInRow: 0 };
  return startNewAttempt({ ...job, counts }, cause, moment);
}

/** Only a failure that a restart can help is restarted: an import that failed once fails again. */
function canRestart({ counts, spec }: PlacedJob, { code, diagnosis, ...cause }: Cause): boolean {
  const isProgram =
    classOf({ code, ...cause }) === 'user' && code !== 'MAX_RUNNING_TIME_EXCEEDED' && !HEALTH_ENDS.includes(code);
  return isProgram && diagnosis?.canRetryHelp !== false && counts.restarts < spec.limits.restartsMax;
}

/** VMs were lost and the program was not at fault: a new attempt, unless too many in a row were interrupted early. */
export function interruptAttempt(job: PlacedJob, cause: Cause, moment: Moment): Transition {
  const earlier = job.ledger.map((record) => record.cause);
  const end = endOfRecovery(cause, earlier) ?? hostUnreachable(job, cause);
  if (end !== null) {
    return failJob(job, end, moment);
  }
  const wasStable = job.status === 'RUNNING' && moment.at - job.ranAt >= STABLE_RUN_MS;
  const interruptionsInRow = wasStable ? 1 : job.counts.interruptionsInRow + 1;
  const bootFailuresInRow = cause.code === 'VM_BOOT_TIMED_OUT' ? job.counts.bootFailuresInRow + 1 : 0;
  if (bootFailuresInRow >= BOOT_FAILURES_IN_ROW_MAX) {
    const message = `In ${bootFailuresInRow} attempts in a row, a VM never sent a heartbeat. Last: ${cause.message}`;
    return failJob(job, causeOf('BOOT_FAILED_REPEATEDLY', message, cause.evidence), moment);
  }
  if (interruptionsInRow > INTERRUPTIONS_IN_ROW_MAX) {
    const message = `${interruptionsInRow} attempts in a row were interrupted before they had run for ${STABLE_RUN_MS / 1_000} s. Last: ${cause.message}`;
    return failJob(job, causeOf('INTERRUPTED_REPEATEDLY', message, cause.evidence), moment);
  }
  const interruptions = job.counts.interruptions + 1;
  const counts = { ...job.counts, interruptions, interruptionsInRow, bootFailuresInRow };
  return startNewAttempt({ ...job, counts }, cause, moment);
}

/** The new attempt number fences off the VMs of this one, which are torn down. */
function startNewAttempt(job: PlacedJob, cause: Cause, moment: Moment & { readonly backoffMs?: number }): Transition {
  const { at, timeouts, backoffMs = interruptionBackoffMs(job.counts.interruptionsInRow) } = moment;
  const ranMs = job.ranMs + (job.status === 'RUNNING' ? Math.max(0, at - job.ranAt) : 0);
  if (remainingRunningMs({ ranMs, spec: job.spec }) === 0) {
    return failJob(job, maxRunningTimeExceeded(job, [cause.message]), { at, timeouts });
  }
  const next: Job = {
    ...commonFields(job),
    endedPlacements: countEnded(job),
    counts: { ...job.counts, unusedVms: job.counts.unusedVms + countUnusedVms(job) },
    ranMs,
    attempt: job.attempt + 1,
    placementRound: 1,
    exhaustedZones: [],
    ledger: recordAttempt(job, at, cause),
    waitingFor: cause,
    status: 'QUEUED',
    isBackingOff: backoffMs > 0,
    isAdmitted: false,
    wakeAt: at + (backoffMs > 0 ? backoffMs : timeouts.provisionAnswerMs),
  };
  return move(job, next, next.isBackingOff ? [teardownOf(job)] : [teardownOf(job), provisionOf(next)]);
}

/** The VMs of an attempt that ends before its program ran: all, unless they were waiting for capacity. */
function countUnusedVms(job: PlacedJob): number {
  return job.status === 'PREPARING' && billedSince(job) !== null ? replicasOf(job.spec).length : 0;
}
