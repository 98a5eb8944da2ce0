import { type Cause, classOf } from '#shared/domain/cause.ts';
import { type Transition, teardownOf } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import {
  isKeeping,
  type JobIn,
  type KeepingJob,
  type KeptVm,
  type PlacedJob,
  replicaName,
  replicasOf,
} from '#shared/domain/job.ts';
import { closeJob, nextKeptCheckAt } from '#shared/domain/rules/close.ts';
import { ignore, type Moment } from '#shared/domain/rules/rule.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';

type Closing = JobIn<'CLOSING'>;

/**
 * Whether the VM of a replica that failed like this is kept, if nothing is restarted: only failures of the program are,
 * within its time. A trial's VM is not: the tuning tries other values meanwhile.
 */
export function isWorthKeeping({ spec, trial }: PlacedJob, cause: Cause): boolean {
  const isOfProgram = classOf(cause) === 'user' && cause.code !== 'MAX_RUNNING_TIME_EXCEEDED';
  return spec.limits.keepOnFailureMs > 0 && trial === null && isOfProgram;
}

/** Fails the job and keeps the VM of one replica. */
export function failAndKeep(
  job: PlacedJob,
  { cause, replica }: { readonly cause: Cause; readonly replica: string },
  moment: Moment,
): Transition {
  return closeJob(job, { state: 'FAILED', cause }, { ...moment, kept: keptVmOf(job, replica, moment.at) });
}

function keptVmOf(job: PlacedJob, replica: string, at: number): KeptVm {
  const id = replicasOf(job.spec).find((each) => replicaName(each) === replica) ?? { role: 'master', index: 0 };
  const vmName = vmNameOf(job.jobId, job.attempt, id);
  const instanceId = job.instances.find((instance) => instance.vmName === vmName)?.instanceId ?? null;
  const until = at + job.spec.limits.keepOnFailureMs;
  return { replica, vmName, instanceId, placement: job.placement, since: at, until, releasedAt: null };
}

/** A check on a kept VM: it can have been preempted, or powered off by its agent. At its time it is released. */
export function recheckKept(job: KeepingJob, at: number, timeouts: Timeouts): Transition {
  return at >= job.kept.until
    ? release(job, { at, timeouts })
    : { job: { ...job, wakeAt: nextKeptCheckAt(job.kept, at, timeouts) }, effects: [teardownOf(job)] };
}

/** The kept VM is deleted before its time. A cancellation of a job that has failed comes to the same. */
export function onReleaseRequested(
  job: Closing,
  { at }: EventOf<'RELEASE_REQUESTED'> | EventOf<'CANCEL_REQUESTED'>,
  timeouts: Timeouts,
): Transition {
  return isKeeping(job) ? release(job, { at, timeouts }) : ignore(job);
}

function release(job: KeepingJob, { at, timeouts }: Moment): Transition {
  const kept = { ...job.kept, releasedAt: at };
  return { job: { ...job, kept, wakeAt: at + timeouts.teardownMs }, effects: [teardownOf(job)] };
}
