import { type Effect, type Transition, teardownOf } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import { isKeeping, type Job, type JobIn } from '#shared/domain/job.ts';
import { recheckKept } from '#shared/domain/rules/keeping.ts';
import { commonFields, move } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

type Closing = JobIn<'CLOSING'>;

/** Deletions can be lost or slow: they are requested again for as long as a VM exists. */
export function onDeadlinePassed(job: Closing, { at }: EventOf<'DEADLINE_PASSED'>, timeouts: Timeouts): Transition {
  return isKeeping(job)
    ? recheckKept(job, at, timeouts)
    : { job: { ...job, wakeAt: at + timeouts.teardownMs }, effects: [teardownOf(job)] };
}

/** Compute Engine lists none of the job's VMs: the verdict is final, and a trial is reported to its tuning. */
export function onVmsGone(job: Closing, { at }: EventOf<'VMS_GONE'>): Transition {
  const kept = job.kept && { ...job.kept, releasedAt: job.kept.releasedAt ?? at };
  const closed: Job = {
    ...commonFields(job),
    endedPlacements: 0,
    status: 'CLOSED',
    verdict: job.verdict,
    endedAt: at,
    kept,
  };
  return move(job, closed, reportTrialOf(job));
}

/** Only now: a trial counts as running, and its outputs may change, for as long as it has VMs. */
function reportTrialOf({ jobId, trial }: Job): readonly Effect[] {
  return trial === null ? [] : [{ type: 'REPORT_TRIAL', jobId, tuningId: trial.tuningId, ordinal: trial.ordinal }];
}
