import { abridge, type Cause, causeOf } from '#shared/domain/cause.ts';
import type { EventOf, Transition } from '#shared/domain/event.ts';
import {
  ATTEMPT_RECORDS_MAX,
  type AttemptRecord,
  billedSince,
  type Job,
  type JobIn,
  stateOf,
  type TimestampMs,
  type UnfinishedJob,
  type Verdict,
} from '#shared/domain/job.ts';
import { EVIDENT_RECORDS_MAX } from '#shared/domain/job-size.ts';
import { common, ignore, move } from '#shared/domain/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

type Moment = { readonly at: TimestampMs; readonly timeouts: Timeouts };

/** The verdict stands; the job is over when Compute Engine says that its VMs are gone. */
export function closeWith(job: UnfinishedJob, verdict: Verdict, { at, timeouts }: Moment): Transition {
  if (job.status === 'CLOSING') {
    return ignore(job);
  }
  const next: Job = {
    ...common(job),
    ledger: recordAttempt(job, at, verdict.cause),
    waitingFor: null,
    status: 'CLOSING',
    verdict,
    shownAs: stateOf(job),
    wakeAt: at + timeouts.teardownMs,
  };
  return move(job, next, [{ type: 'TEARDOWN', jobId: job.jobId }]);
}

export function recordAttempt(job: Job, endedAt: TimestampMs, cause: Cause | null): readonly AttemptRecord[] {
  const isPlaced = job.status === 'PREPARING' || job.status === 'RUNNING';
  const record: AttemptRecord = {
    attempt: job.attempt,
    zone: isPlaced ? job.placement.zone : null,
    provisioningModel: isPlaced ? job.placement.provisioningModel : null,
    placedAt: billedSince(job),
    ranAt: job.status === 'RUNNING' ? job.ranAt : null,
    endedAt,
    cause,
  };
  const newest = [...job.ledger, record].slice(-ATTEMPT_RECORDS_MAX);
  const isOld = (index: number) => index < newest.length - EVIDENT_RECORDS_MAX;
  return newest.map((each, index) => (isOld(index) && each.cause ? { ...each, cause: abridge(each.cause) } : each));
}

export function cancel(job: UnfinishedJob, { at }: EventOf<'CANCEL_REQUESTED'>, timeouts: Timeouts): Transition {
  const cause = causeOf('CANCELLED_BY_USER', `Job ${job.jobId} was cancelled on request.`);
  return closeWith(job, { state: 'CANCELLED', cause }, { at, timeouts });
}

/** Deletions that were lost or are slow are asked for again, for as long as a VM is there. */
export function onClosingDeadlinePassed(
  job: JobIn<'CLOSING'>,
  { at }: EventOf<'DEADLINE_PASSED'>,
  timeouts: Timeouts,
): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  return { job: { ...job, wakeAt: at + timeouts.teardownMs }, effects: [{ type: 'TEARDOWN', jobId: job.jobId }] };
}

export function finish(job: JobIn<'CLOSING'>, { at }: EventOf<'VMS_GONE'>): Transition {
  return move(job, { ...common(job), status: 'CLOSED', verdict: job.verdict, endedAt: at });
}
