import { causeOf, classOf } from '#shared/domain/cause.ts';
import { provisionOf, type Transition, teardownOf } from '#shared/domain/effect.ts';
import type { EventOf, QuotaLimit, VmCreateFailure } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  isPending,
  type Job,
  type JobIn,
  MASTER,
  regionOf,
  remainingRunningMs,
  replicasOf,
  type TimestampMs,
  type WaitedLimit,
} from '#shared/domain/job.ts';
import { countEnded, failJob } from '#shared/domain/rules/close.ts';
import { endOrHold, interruptUnlessFinished, recheckHeldFailure } from '#shared/domain/rules/holding.ts';
import { isWaitOver, maxWaitTimeExceeded, nextWakeAt, recordDenial } from '#shared/domain/rules/limits.ts';
import { interruptAttempt } from '#shared/domain/rules/new-attempt.ts';
import { backOffUntil, preferZones, tooSmallQuotaCause } from '#shared/domain/rules/placement.ts';
import { commonFields, ignore, type Moment, move } from '#shared/domain/rules/rule.ts';
import { PERIMETER_RETRY_MS, SETUP_MS_MAX, type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';
import { zonesOf } from '#shared/domain/waiting-order.ts';

type Preparing = JobIn<'PREPARING'>;

/**
 * The VMs could not be created: the next zone at once, all zones again after a backoff, or the end, by the class of the
 * cause. Within an attempt only this event leads from one zone to the next.
 */
export function onPlacementFailed(job: Preparing, event: EventOf<'PLACEMENT_FAILED'>, timeouts: Timeouts): Transition {
  const { job: next, effects } = afterCreateFailure(job, event, timeouts);
  return next.status !== 'QUEUED' || event.areVmsGone
    ? { job: next, effects }
    : {
        job: { ...next, isAdmitted: false, endedPlacements: countEnded(job) },
        effects: [teardownOf(job), ...effects],
      };
}

function afterCreateFailure(job: Preparing, event: EventOf<'PLACEMENT_FAILED'>, timeouts: Timeouts): Transition {
  const { at, failure } = event;
  const failed = countCreateFailure(job, event);
  switch (classOf(failure.cause)) {
    case 'capacity':
      return failure.quota === undefined
        ? fallBackToNextZone(failed, failure, { from: job, at, timeouts })
        : waitForQuota(failed, event, { from: job, at, timeouts });
    case 'quota':
      return waitForQuota(failed, event, { from: job, at, timeouts });
    case 'rate':
      return move(job, backOffUntil(failed, at + zoneFallbackBackoffMs(0, timeouts), at));
    default: {
      const denied = recordDenial(failed, failure.cause, at);
      return denied === null
        ? failJob(failed, failure.cause, { at, timeouts })
        : move(job, backOffUntil(denied, at + PERIMETER_RETRY_MS, at));
    }
  }
}

function countCreateFailure(job: Preparing, { at, failure, vmsCreated }: EventOf<'PLACEMENT_FAILED'>): Preparing {
  const { createFailures, unusedVms } = job.counts;
  const counts = {
    ...job.counts,
    createFailures: createFailures + 1,
    unusedVms: unusedVms + vmsCreated,
    deliveryFailuresInRow: 0,
  };
  const isQuota = classOf(failure.cause) === 'quota';
  const quotaWaitSince = isQuota ? (job.quotaWaitSince ?? at) : null;
  const waitsFor = failure.quota === undefined ? limitElsewhere(job) : limitIn(job.placement.zone, failure.quota);
  return { ...job, counts, waitingFor: failure.cause, quotaWaitSince, waitsFor };
}

function limitIn(zone: string, { metric, family, limit, scope }: QuotaLimit): WaitedLimit {
  return { metric, family, limit, region: scope === 'PROJECT' ? null : regionOf(zone), isHeld: false };
}

/** Another failure in a zone of the limit shows that it is not exceeded: the job holds up no others there. */
function limitElsewhere({ waitsFor, placement }: Preparing): WaitedLimit | null {
  return waitsFor === null || [null, regionOf(placement.zone)].includes(waitsFor.region) ? null : waitsFor;
}

type Failed = Moment & { readonly from: Preparing };

/**
 * The quota rules out all zones in which it applies for this round. The job fails if none has enough of it for the job
 * alone, and otherwise waits for the VMs that use it.
 */
function waitForQuota(
  job: Preparing,
  { failure, quotaDemand }: EventOf<'PLACEMENT_FAILED'>,
  { from, at, timeouts }: Failed,
): Transition {
  const { cause, quota } = failure;
  const ruledOut = quota === undefined ? [] : zonesOf(limitIn(job.placement.zone, quota), job);
  const tooSmall = quota === undefined ? null : tooSmallQuotaCause(job, { cause, quota, demand: quotaDemand });
  return tooSmall !== null && ruledOut.length === job.zones.length
    ? failJob(job, tooSmall, { at, timeouts })
    : fallBackToNextZone(job, failure, { from, at, timeouts, ruledOut });
}

function fallBackToNextZone(
  job: Preparing,
  { zonesAvailable }: VmCreateFailure,
  { from, at, timeouts, ruledOut = [] }: Failed & { readonly ruledOut?: readonly string[] },
): Transition {
  const next: Job = {
    ...commonFields(job),
    zones: preferZones(job.zones, zonesAvailable),
    exhaustedZones: [...new Set([...job.exhaustedZones, job.placement.zone, ...ruledOut])],
    placementRound: job.placementRound + 1,
    status: 'QUEUED',
    isBackingOff: false,
    isAdmitted: true,
    wakeAt: at + timeouts.provisionAnswerMs,
  };
  return move(from, next, [provisionOf(next)]);
}

/**
 * Compute Engine starts the VM when it has capacity: the job is re-checked until then, and on the VM's first heartbeat.
 * Of a cluster, each VM starts on its own: once some have, the rest has `assemblyMs`.
 */
export function onVmsPending(job: Preparing, event: EventOf<'VMS_PENDING'>, timeouts: Timeouts): Transition {
  const { at, until, startedVms } = event;
  const isKnown = job.pendingUntil !== null && startedVms === 0;
  if (job.instances.length > 0 || isKnown) {
    return ignore(job);
  }
  const assemblingSince = startedVms === 0 ? null : (job.assemblingSince ?? at);
  const pending: Preparing = {
    ...job,
    pendingUntil: job.pendingUntil ?? until,
    assemblingSince,
    quotaWaitSince: null,
    waitsFor: null,
    counts: { ...job.counts, deliveryFailuresInRow: 0 },
    waitingFor: causeOf('CAPACITY_PENDING', describeWait(job, event, timeouts)),
  };
  return move(job, { ...pending, wakeAt: nextCheckAt(pending, at, timeouts) });
}

function describeWait({ spec, placement }: Preparing, event: EventOf<'VMS_PENDING'>, timeouts: Timeouts): string {
  const { zone } = placement;
  const { at, until, startedVms } = event;
  const minutes = Math.round((until - at) / 60_000);
  const count = replicasOf(spec).length;
  if (startedVms > 0) {
    return `${startedVms} of ${count} VMs have started in ${zone} and are billed while they wait for capacity for the others, for at most ${timeouts.assemblyMs / 60_000} min.`;
  }
  const what = count === 1 ? 'the VM' : `the ${count} VMs`;
  return `Compute Engine has no capacity in ${zone} at the moment. It starts ${what} when it has, or gives up after ${minutes} min.`;
}

/** When to look at pending VMs again: periodically, and when those that have started are no longer kept. */
function nextCheckAt(job: Preparing, at: TimestampMs, { pendingMs, assemblyMs }: Timeouts): TimestampMs {
  const leftMs = job.assemblingSince === null ? pendingMs : job.assemblingSince + assemblyMs - at;
  return nextWakeAt(job, at, leftMs > 0 ? Math.min(pendingMs, leftMs) : pendingMs);
}

/**
 * All VMs exist and have until the boot deadline to send a heartbeat. VMs that were pending are billed from now on; of
 * a cluster, from when the first of them was found to have started.
 */
export function onVmsCreated(job: Preparing, event: EventOf<'VMS_CREATED'>, timeouts: Timeouts): Transition {
  if (job.instances.length > 0) {
    return ignore(job);
  }
  const { at, instances } = event;
  const waitMs = job.reportedAt === null ? timeouts.bootMs : SETUP_MS_MAX;
  const placedAt = job.assemblingSince ?? at;
  const wasPending = job.pendingUntil !== null && {
    pendingUntil: null,
    assemblingSince: null,
    placedAt,
    waitingFor: null,
  };
  const counts = { ...job.counts, deliveryFailuresInRow: 0 };
  const created: Preparing = { ...job, ...wasPending, counts, instances, quotaWaitSince: null, waitsFor: null };
  return move(job, { ...created, wakeAt: nextWakeAt(created, at, waitMs) });
}

/**
 * The master's VM has booted: its setup is guarded by the lease, up to SETUP_MS_MAX. Until Compute Engine has confirmed
 * all VMs, others may not exist, so the deadline for that answer stays. A heartbeat of a pending VM, also of another
 * replica, means that it was started and is billed: the provision stage finds out which VMs exist.
 */
export function onReplicaReported(job: Preparing, { at, replica }: EventOf<'REPLICA_REPORTED'>): Transition {
  const isFirstOfCluster = isPending(job) && job.assemblingSince === null && replicasOf(job.spec).length > 1;
  const assembling = isFirstOfCluster ? { assemblingSince: at } : {};
  if (replica !== MASTER) {
    return isFirstOfCluster ? move(job, { ...job, ...assembling }, [provisionOf(job)]) : ignore(job);
  }
  if (job.reportedAt !== null) {
    return ignore(job);
  }
  const keepsDeadline = job.instances.length === 0 || job.heldFailure !== null;
  const wakeAt = keepsDeadline ? job.wakeAt : nextWakeAt(job, at, SETUP_MS_MAX);
  return move(
    job,
    { ...job, ...assembling, reportedAt: at, wakeAt },
    job.pendingUntil === null ? [] : [provisionOf(job)],
  );
}

/** The job runs when the programs of all its replicas do, but not before all of its VMs exist (gang scheduling). */
export function onReplicaStarted(job: Preparing, event: EventOf<'REPLICA_STARTED'>, timeouts: Timeouts): Transition {
  if (job.instances.length === 0) {
    return ignore(job);
  }
  const { placement, instances, placedAt, heldFailure } = job;
  const deadline = event.at + remainingRunningMs(job) + timeouts.maxRunningGraceMs;
  return move(job, {
    ...commonFields(job),
    counts: { ...job.counts, unusedVms: 0 },
    placement,
    instances,
    placedAt,
    heldFailure,
    status: 'RUNNING',
    ranAt: event.at,
    uploadingAt: null,
    stopRequestedAt: null,
    firstRanAt: job.firstRanAt ?? event.at,
    waitingFor: null,
    deniedSince: null,
    wakeAt: heldFailure === null ? deadline : job.wakeAt,
  });
}

/**
 * The master's exit decides; a success before all VMs are confirmed is not accepted. Agents wait for that, so the
 * program has run on a part of the cluster. The failure of another replica ends the attempt too, unless it is held (see
 * the rule for RUNNING); its success changes nothing.
 */
export function onReplicaExited(job: Preparing, event: EventOf<'REPLICA_EXITED'>, timeouts: Timeouts): Transition {
  const { at, exit, replica } = event;
  if (exit.outcome === 'SUCCEEDED' && replica !== MASTER) {
    return ignore(job);
  }
  if (exit.outcome === 'SUCCEEDED' && !allReplicasCreated(job)) {
    const message = `The master of job ${job.jobId} exited before all VMs of the cluster were confirmed to exist.`;
    return interruptAttempt(job, causeOf('CLUSTER_INCOMPLETE', message), { at, timeouts });
  }
  return endOrHold(job, event, { at, timeouts });
}

/** A VM was lost before the program ran: a new attempt, unless the job has run out of time or interruptions. */
export function onInterrupted(
  job: Preparing,
  { at, cause }: EventOf<'ATTEMPT_INTERRUPTED'>,
  timeouts: Timeouts,
): Transition {
  return interruptUnlessFinished(job, cause, { at, timeouts });
}

/**
 * Without an answer from Compute Engine the request is repeated; VMs that exist without a heartbeat have failed to
 * boot.
 */
export function onDeadlinePassed(job: Preparing, event: EventOf<'DEADLINE_PASSED'>, timeouts: Timeouts): Transition {
  const { at, unstarted } = event;
  if (job.heldFailure !== null) {
    return recheckHeldFailure(job, at, timeouts);
  }
  if (isWaitOver(job, at)) {
    return failJob(job, maxWaitTimeExceeded(job, unstarted), { at, timeouts });
  }
  const hasVms = job.instances.length > 0;
  if (!hasVms && at < (job.pendingUntil ?? job.placedAt) + timeouts.bootMs) {
    const isWaiting = job.pendingUntil !== null;
    const wakeAt = isWaiting ? nextCheckAt(job, at, timeouts) : nextWakeAt(job, at, timeouts.provisionAnswerMs);
    return { job: { ...job, wakeAt }, effects: [provisionOf(job)] };
  }
  const what = unstarted === undefined ? '' : ` Replicas: ${unstarted}.`;
  if (hasVms && job.reportedAt !== null) {
    const message = `Job ${job.jobId} was still in setup ${SETUP_MS_MAX / 60_000} min after its master's first heartbeat.${what}`;
    return failJob(job, causeOf('SETUP_TIMED_OUT', message), { at, timeouts });
  }
  const { zone, machineImage } = job.placement;
  const message = `The VMs in ${zone} with machine image ${machineImage} sent no heartbeat within ${timeouts.bootMs / 60_000} min.${what}`;
  return interruptAttempt(job, causeOf('VM_BOOT_TIMED_OUT', message), { at, timeouts });
}
