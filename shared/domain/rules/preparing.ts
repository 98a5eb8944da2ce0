import { causeOf, classOf } from '#shared/domain/cause.ts';
import { provisionOf, type Transition } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  isCurrentRound,
  isPending,
  type Job,
  type JobIn,
  MASTER,
  remainingRunningMs,
} from '#shared/domain/job.ts';
import { cancelJob, failJob } from '#shared/domain/rules/close.ts';
import { isWaitOver, maxWaitTimeExceeded, nextWakeAt } from '#shared/domain/rules/limits.ts';
import { endAttempt, interruptAttempt } from '#shared/domain/rules/new-attempt.ts';
import {
  backOffUntil,
  countDeliveryFailure,
  preferZones,
  zeroQuotaCause,
  zonesWithoutQuota,
} from '#shared/domain/rules/placement.ts';
import { commonFields, ignore, type Moment, move } from '#shared/domain/rules/rule.ts';
import { SETUP_MS_MAX, type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';

type Preparing = JobIn<'PREPARING'>;

/**
 * The VMs could not be created: the next zone at once, all zones again after a backoff, or the end, by the class of the
 * cause. Within an attempt only this event leads from one zone to the next. Its id names the placement, so it is
 * handled once and never stale.
 */
export function onPlacementFailed(job: Preparing, event: EventOf<'PLACEMENT_FAILED'>, timeouts: Timeouts): Transition {
  if (event.attempt !== job.attempt) {
    return ignore(job);
  }
  const { at, failure } = event;
  const counts = { ...job.counts, createFailures: job.counts.createFailures + 1, deliveryFailuresInRow: 0 };
  const failed: Preparing = { ...job, counts, waitingFor: failure.cause };
  switch (classOf(failure.cause)) {
    case 'capacity':
    case 'quota':
      return fallBackToNextZone(failed, failure, { from: job, at, timeouts });
    case 'rate':
      return move(job, backOffUntil(failed, at + zoneFallbackBackoffMs(0, timeouts), at));
    default:
      return failJob(failed, failure.cause, { at, timeouts });
  }
}

function fallBackToNextZone(
  job: Preparing,
  { cause, zonesAvailable, quota }: EventOf<'PLACEMENT_FAILED'>['failure'],
  { from, at, timeouts }: Moment & { readonly from: Preparing },
): Transition {
  const withoutQuota = quota === undefined ? [] : zonesWithoutQuota(quota, job);
  if (quota !== undefined && withoutQuota.length === job.zones.length) {
    return failJob(job, zeroQuotaCause(job, quota, cause), { at, timeouts });
  }
  const next: Job = {
    ...commonFields(job),
    zones: preferZones(job.zones, zonesAvailable),
    exhaustedZones: [...new Set([...job.exhaustedZones, job.placement.zone, ...withoutQuota])],
    placementRound: job.placementRound + 1,
    status: 'QUEUED',
    isBackingOff: false,
    wakeAt: at + timeouts.provisionAnswerMs,
  };
  return move(from, next, [provisionOf(next)]);
}

/**
 * Compute Engine starts the VM when it has capacity. The job is re-checked until then, and on the VM's first heartbeat.
 */
export function onVmsPending(job: Preparing, event: EventOf<'VMS_PENDING'>, timeouts: Timeouts): Transition {
  if (!isCurrentRound(job, event) || job.instances.length > 0 || job.pendingUntil !== null) {
    return ignore(job);
  }
  const { at, until } = event;
  const minutes = Math.round((until - at) / 60_000);
  const message = `Compute Engine has no capacity in ${job.placement.zone} at the moment. It starts the VM when it has, or gives up after ${minutes} min.`;
  return move(job, {
    ...job,
    pendingUntil: until,
    counts: { ...job.counts, deliveryFailuresInRow: 0 },
    waitingFor: causeOf('CAPACITY_PENDING', message),
    wakeAt: nextWakeAt(job, at, timeouts.pendingMs),
  });
}

/** All VMs exist and have until the boot deadline to send a heartbeat. VMs that were pending are billed from now on. */
export function onVmsCreated(job: Preparing, event: EventOf<'VMS_CREATED'>, timeouts: Timeouts): Transition {
  if (!isCurrentRound(job, event) || job.instances.length > 0) {
    return ignore(job);
  }
  const { at, instances } = event;
  const waitMs = job.reportedAt === null ? timeouts.bootMs : SETUP_MS_MAX;
  const wasPending = job.pendingUntil !== null && { pendingUntil: null, placedAt: at, waitingFor: null };
  const counts = { ...job.counts, deliveryFailuresInRow: 0 };
  return move(job, { ...job, ...wasPending, counts, instances, wakeAt: nextWakeAt(job, at, waitMs) });
}

/**
 * The master's VM has booted: its setup is guarded by the lease, up to SETUP_MS_MAX. Until Compute Engine has confirmed
 * all VMs, others may not exist, so the deadline for that answer stays. A heartbeat of a pending VM means that it was
 * started: the provision stage finds out which VMs exist.
 */
export function onReplicaReported(job: Preparing, { at, ...event }: EventOf<'REPLICA_REPORTED'>): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER || job.reportedAt !== null) {
    return ignore(job);
  }
  const wakeAt = job.instances.length === 0 ? job.wakeAt : nextWakeAt(job, at, SETUP_MS_MAX);
  return move(job, { ...job, reportedAt: at, wakeAt }, job.pendingUntil === null ? [] : [provisionOf(job)]);
}

/** The job runs when its master does, but not before all of its VMs exist (gang scheduling). */
export function onReplicaStarted(job: Preparing, event: EventOf<'REPLICA_STARTED'>, timeouts: Timeouts): Transition {
  if (event.attempt !== job.attempt || event.replica !== MASTER || job.instances.length === 0) {
    return ignore(job);
  }
  const { placement, instances, placedAt } = job;
  return move(job, {
    ...commonFields(job),
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

/**
 * The master's exit decides. The failure of another replica ends the attempt too; its success changes nothing. A
 * success before all VMs are confirmed is not accepted: agents wait for that, so the program has run on a part of the
 * cluster.
 */
export function onReplicaExited(job: Preparing, event: EventOf<'REPLICA_EXITED'>, timeouts: Timeouts): Transition {
  const { at, exit, attempt, replica } = event;
  if (attempt !== job.attempt || (exit.outcome === 'SUCCEEDED' && replica !== MASTER)) {
    return ignore(job);
  }
  if (exit.outcome === 'SUCCEEDED' && !allReplicasCreated(job)) {
    const message = `The master of job ${job.jobId} exited before all VMs of the cluster were confirmed to exist.`;
    return interruptAttempt(job, causeOf('CLUSTER_INCOMPLETE', message), { at, timeouts });
  }
  return endAttempt(job, exit, { at, timeouts });
}

export function onInterrupted(
  job: Preparing,
  { at, attempt, cause }: EventOf<'ATTEMPT_INTERRUPTED'>,
  timeouts: Timeouts,
): Transition {
  return attempt === job.attempt ? interruptAttempt(job, cause, { at, timeouts }) : ignore(job);
}

export function onCancelRequested(job: Preparing, { at }: EventOf<'CANCEL_REQUESTED'>, timeouts: Timeouts): Transition {
  return cancelJob(job, { at, timeouts });
}

/**
 * A provision message of this job is among the dead letters (see the rule for QUEUED). The placement is kept in the new
 * round, since VMs may have been created there.
 */
export function onDeliveryExhausted(
  job: Preparing,
  event: EventOf<'DELIVERY_EXHAUSTED'>,
  timeouts: Timeouts,
): Transition {
  const isAnswered = job.instances.length > 0 || isPending(job);
  if (event.topic !== 'provision' || !isCurrentRound(job, event) || isAnswered) {
    return ignore(job);
  }
  const { at } = event;
  const { counted, cause, isLast } = countDeliveryFailure(job, event);
  if (isLast) {
    return failJob(job, cause, { at, timeouts });
  }
  const backoffMs = zoneFallbackBackoffMs(counted.counts.deliveryFailuresInRow - 1, timeouts);
  return move(job, { ...counted, placementRound: job.placementRound + 1, wakeAt: nextWakeAt(job, at, backoffMs) });
}

/**
 * Without an answer from Compute Engine the request is repeated; VMs that exist without a heartbeat have failed to
 * boot.
 */
export function onDeadlinePassed(job: Preparing, { at }: EventOf<'DEADLINE_PASSED'>, timeouts: Timeouts): Transition {
  if (at < job.wakeAt) {
    return ignore(job);
  }
  if (isWaitOver(job, at)) {
    return failJob(job, maxWaitTimeExceeded(job), { at, timeouts });
  }
  const hasVms = job.instances.length > 0;
  if (!hasVms && at < (job.pendingUntil ?? job.placedAt) + timeouts.bootMs) {
    const retryMs = job.pendingUntil === null ? timeouts.provisionAnswerMs : timeouts.pendingMs;
    return { job: { ...job, wakeAt: nextWakeAt(job, at, retryMs) }, effects: [provisionOf(job)] };
  }
  if (hasVms && job.reportedAt !== null) {
    const message = `Job ${job.jobId} was still in setup ${SETUP_MS_MAX / 60_000} min after its master's first heartbeat.`;
    return failJob(job, causeOf('SETUP_TIMED_OUT', message), { at, timeouts });
  }
  const { zone, machineImage } = job.placement;
  const message = `The VMs in ${zone} with machine image ${machineImage} sent no heartbeat within ${timeouts.bootMs / 60_000} min.`;
  return interruptAttempt(job, causeOf('VM_BOOT_TIMED_OUT', message), { at, timeouts });
}
