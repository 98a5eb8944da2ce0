import { groupsCountedBy, quotaDemandOf } from '#shared/catalog/quota-demand.ts';
import { CAPACITY_FAILURE_AGE_MS_MAX, chooseZone, faultyGpuOf, machineKeyOf } from '#shared/domain/capacity.ts';
import { causeOf, classOf } from '#shared/domain/cause.ts';
import type { Effect } from '#shared/domain/effect.ts';
import type { EventOf } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  type Instance,
  isCurrentRound,
  isPending,
  isPlaced,
  type Job,
  type JobIn,
  type PlacedJob,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { ownsVm } from '#shared/domain/ownership.ts';
import { isVmLimitName } from '#shared/domain/vm-limits.ts';
import type { WaitingJob } from '#shared/domain/waiting-order.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { VmCreation } from '#shared/ports/vm-provider.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type ExceededLimit, findExceededLimit } from '#shared/use-cases/limits/vm-usage.ts';
import { causeFields, logDecision } from '#shared/use-cases/log-lines.ts';
import {
  type CreationFailure,
  createVms,
  findPendingVms,
  type ProvisionContext,
} from '#shared/use-cases/provision/create-vms.ts';
import { expectReplicas } from '#shared/use-cases/provision/expect-replicas.ts';
import { findSuccess } from '#shared/use-cases/provision/find-success.ts';
import { listEarlier, wakeForVmLimits, wakeWaitingJobs, zonesAfter } from '#shared/use-cases/provision/waiting-jobs.ts';

export type ProvisionPorts = EventPorts & {
  readonly vms: VmCreation;
  readonly capacity: CapacityHistory;
  readonly replicas: ReplicaStore;
  readonly objects: Pick<ObjectStore, 'stat'>;
};

export type ProvisionMessage = Omit<Extract<Effect, { type: 'PROVISION' }>, 'type'>;

/**
 * The provision stage: chooses a zone and commits it, creates every VM of the attempt there, all or none, and reports
 * the result as an event. A redelivery finds the zone and the VMs. A message of an earlier placement round is ignored.
 * No VM is created for a program that has succeeded in an earlier attempt.
 */
export async function provision(
  ports: ProvisionPorts,
  message: ProvisionMessage,
  context: ProvisionContext,
): Promise<void> {
  const job = await readCurrent(ports, message);
  if (job?.status === 'QUEUED' && (await findSuccess(ports.objects, job))) {
    const { jobId, attempt } = job;
    const eventId = `success-${attempt}`;
    await handleJobEvent(ports, { type: 'SUCCESS_FOUND', eventId, jobId, attempt, at: context.now });
    return;
  }
  const placed = job?.status === 'QUEUED' ? await choosePlacement(ports, job, context) : job;
  if (placed === undefined || !isPlaced(placed)) {
    return;
  }
  if (placed.status === 'RUNNING' || placed.instances.length > 0) {
    // An earlier delivery may have crashed before it had recorded all replicas.
    await expectReplicas(ports, placed, context.now);
    return;
  }
  const { now } = context;
  const created = isPending(placed)
    ? await findPendingVms(ports, placed, context)
    : await createVms(ports, placed, context);
  if (created === undefined) {
    return;
  }
  if ('failure' in created) {
    await reportFailure(ports, placed, { ...created, now });
  } else if ('pendingUntil' in created) {
    await reportPending(ports, placed, { ...created, now });
  } else {
    await reportCreated(ports, placed, { instances: created.instances, now });
  }
}

async function readCurrent(ports: ProvisionPorts, message: ProvisionMessage): Promise<Job | undefined> {
  const job = (await ports.jobs.read(message.jobId))?.record;
  return job !== undefined && isCurrentRound(job, message) ? job : undefined;
}

async function choosePlacement(
  ports: ProvisionPorts,
  job: JobIn<'QUEUED'>,
  { now, settings }: ProvisionContext,
): Promise<Job | undefined> {
  const { jobId, attempt, placementRound, spec } = job;
  const { provisioningModel } = spec;
  const query = { machineKey: machineKeyOf(job), provisioningModel, since: now - CAPACITY_FAILURE_AGE_MS_MAX };
  const faulty = placementRound === 1 ? faultyGpuOf(job) : undefined;
  if (faulty !== undefined) {
    await ports.capacity.record(faulty);
  }
  const earlier = await listEarlier(ports.jobs, job);
  const open = { ...job, zones: zonesAfter(earlier, job) };
  const choice = chooseZone(open, await ports.capacity.recall(query), { now, timeouts: ports.timeouts });
  const base = { jobId, at: now, attempt, placementRound };
  if (choice.zone === null) {
    // A job that is only held is woken.
    const retryAt = open.zones.length > 0 ? choice.retryAt : now + ports.timeouts.backoffMsMax;
    await reportNoPlacement(ports, job, { retryAt, behind: describeEarlier(earlier), exceeded: null, at: now });
    return undefined;
  }
  const placement = {
    zone: choice.zone,
    provisioningModel,
    machineImage: settings.machineImageOf(spec.runtimeVersion),
  };
  const eventId = `placed-${attempt}-${placementRound}`;
  await handleJobEvent(ports, { ...base, type: 'PLACEMENT_CHOSEN', eventId, placement }, settings.vmLimits);
  // Read again: a concurrent delivery may have committed another placement.
  const placed = await readCurrent(ports, { jobId, attempt, placementRound });
  if (placed?.status === 'QUEUED' && !placed.isBackingOff) {
    return waitForLimit(ports, placed, { now, settings });
  }
  if (isVmLimitName(job.waitsFor?.metric)) {
    await wakeForVmLimits(ports, `${eventId}-${jobId}`, now);
  }
  return placed;
}

/**
 * The VMs would exceed a limit of the deployment. Those that end before the job has recorded that it waits wake others
 * only, so the limit is checked again afterwards.
 */
async function waitForLimit(
  ports: ProvisionPorts,
  job: JobIn<'QUEUED'>,
  context: ProvisionContext,
): Promise<Job | undefined> {
  const { jobId, attempt, placementRound } = job;
  const { now, settings } = context;
  const check = async () => findExceededLimit(job.spec, await ports.jobs.readUsage(), settings.vmLimits);
  const exceeded = await check();
  if (exceeded === null) {
    return choosePlacement(ports, job, context);
  }
  const retryAt = now + ports.timeouts.pendingMs;
  await reportNoPlacement(ports, job, { retryAt, behind: null, exceeded: describeExceeded(exceeded), at: now });
  if ((await check()) === null) {
    await wakeForVmLimits(ports, `free-${jobId}-${attempt}-${placementRound}`, now);
  }
  return undefined;
}

function describeExceeded({ metric, limit, message, isTooLow }: ExceededLimit): NoPlacement['exceeded'] {
  const cause = causeOf(isTooLow ? 'QUOTA_EXCEEDED' : 'WAITS_FOR_MACHINE', `${message} To run more, ${limit.remedy}.`);
  return { waitsFor: { metric, family: null, limit: limit.max, region: null, isHeld: false }, cause, isTooLow };
}

type NoPlacement = Pick<EventOf<'NO_PLACEMENT_LEFT'>, 'retryAt' | 'behind' | 'exceeded' | 'at'>;

/** A job that gives up its VMs' part of the limits, or does not wait for one any more, leaves it to the next. */
async function reportNoPlacement(ports: ProvisionPorts, job: JobIn<'QUEUED'>, why: NoPlacement): Promise<void> {
  const { jobId, attempt, placementRound } = job;
  const eventId = `no-place-${attempt}-${placementRound}`;
  const event = { ...why, type: 'NO_PLACEMENT_LEFT', eventId, jobId, attempt, placementRound } as const;
  const after = await handleJobEvent(ports, event);
  if (job.isAdmitted || (isVmLimitName(job.waitsFor?.metric) && after?.waitsFor === null)) {
    await wakeForVmLimits(ports, `left-${jobId}-${attempt}-${placementRound}`, why.at);
  }
}

function describeEarlier(earlier: readonly WaitingJob[]) {
  const [first] = earlier;
  return first === undefined
    ? null
    : {
        jobIds: earlier.map(({ jobId }) => jobId),
        waitsFor: first.waitsFor,
        isQuota: first.quotaWaitSince !== null,
      };
}

async function reportFailure(
  ports: ProvisionPorts,
  job: JobIn<'PREPARING'>,
  { now, ...created }: CreationFailure & { readonly now: TimestampMs },
): Promise<void> {
  const { jobId, attempt, placement, placedAt, spec } = job;
  const { failure, failed, vmsCreated, areVmsGone } = created;
  logCreateFailure(ports, job, created);
  const { quota } = failure;
  const counts = { isSpotInStandard: failed?.provisioningModel !== 'STANDARD' };
  const quotaDemand = quota === undefined ? null : quotaDemandOf(groupsCountedBy(quota.metric, spec, counts), quota);
  if (!allReplicasCreated(job)) {
    // The other VMs of the cluster are deleted: neither their exits nor their expired leases may end the attempt.
    await ports.replicas.clearLeases(jobId, attempt);
  }
  // Jobs that need the same quota wait in their order, so that nothing has to keep them from the zone.
  if (quotaDemand === null && ['capacity', 'quota'].includes(classOf(failure.cause))) {
    const { zone, provisioningModel } = placement;
    await ports.capacity.record({ zone, provisioningModel, machineKey: machineKeyOf(job), failedAt: now });
  }
  // Named after the placement, not the round: a placement can outlast its round (DELIVERY_EXHAUSTED), and fails once.
  const eventId = `refused-${attempt}-${placement.zone}-${placedAt}`;
  const base = { eventId, jobId, at: now, attempt };
  const event = { ...base, type: 'PLACEMENT_FAILED', failure, quotaDemand, vmsCreated, areVmsGone } as const;
  const after = await handleJobEvent(ports, event);
  if (job.waitsFor !== null && job.waitsFor.metric !== after?.waitsFor?.metric) {
    await wakeWaitingJobs(ports, `left-${jobId}-${attempt}-${placedAt}`, now);
  } else if (after?.status === 'QUEUED' && areVmsGone && !after.isAdmitted) {
    await wakeForVmLimits(ports, `left-${jobId}-${attempt}-${placedAt}`, now);
  }
}

function logCreateFailure(
  { logger }: ProvisionPorts,
  job: JobIn<'PREPARING'>,
  { failure: { cause }, failed }: CreationFailure,
): void {
  const { jobId, attempt, placementRound, spec } = job;
  const { zone } = job.placement;
  const { machineType } = failed ?? spec.replicaGroups[0];
  const { provisioningModel } = failed ?? job.placement;
  const message = `${machineType} could not be created in ${zone}: ${cause.code}`;
  const where = { jobId, attempt, placementRound, zone, provisioningModel, machineType };
  logDecision(logger, { decision: 'CREATE_FAILED', message, ...where, ...causeFields(cause.code) });
}

/** Not all VMs are running yet: the job is re-checked periodically and on the first heartbeat of one of them. */
async function reportPending(
  ports: ProvisionPorts,
  { jobId, attempt, placementRound }: PlacedJob,
  pending: { readonly pendingUntil: TimestampMs; readonly startedVms: number; readonly now: TimestampMs },
): Promise<void> {
  const { pendingUntil: until, startedVms, now: at } = pending;
  const started = startedVms === 0 ? '' : `-${startedVms}`;
  const eventId = `pending-${attempt}-${placementRound}${started}`;
  await handleJobEvent(ports, { type: 'VMS_PENDING', eventId, jobId, at, attempt, placementRound, until, startedVms });
  await wakeWaitingJobs(ports, `after-${jobId}-${attempt}`, at);
}

/**
 * All VMs exist. Only those that the job owns after the event are recorded as replicas: concurrent deliveries can have
 * seen different VMs of the same name, and a record of the wrong one would replace the lease of the right one.
 */
async function reportCreated(
  ports: ProvisionPorts,
  job: PlacedJob,
  { instances, now }: { readonly instances: readonly Instance[]; readonly now: TimestampMs },
): Promise<void> {
  const { jobId, attempt, placementRound } = job;
  const { zone } = job.placement;
  const eventId = `created-${attempt}-${placementRound}`;
  const event = { type: 'VMS_CREATED', eventId, jobId, at: now, attempt, placementRound, instances } as const;
  const current = await handleJobEvent(ports, event);
  const owner = current !== undefined && isPlaced(current) ? current : undefined;
  for (const instance of instances) {
    if (owner === undefined || !ownsVm(owner, { ...instance, zone })) {
      // The sweep would find it too, but later.
      await ports.vms.delete({ vmName: instance.vmName, zone });
    }
  }
  if (owner !== undefined) {
    await expectReplicas(ports, owner, now);
    await wakeWaitingJobs(ports, `after-${jobId}-${attempt}`, now);
  }
}
