import { CAPACITY_FAILURE_AGE_MS_MAX, chooseZone, machineKeyOf } from '#shared/domain/capacity.ts';
import { classOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  type Instance,
  isCurrentRound,
  isPending,
  isPlaced,
  type Job,
  type JobIn,
  type PlacedJob,
  replicaName,
  type TimestampMs,
} from '#shared/domain/job.ts';
import { ownsVm } from '#shared/domain/ownership.ts';
import { NO_PROGRESS, NO_USAGE } from '#shared/domain/replica.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { VmCreation } from '#shared/ports/vm-provider.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { createVms, findPendingVms } from '#shared/use-cases/provision/create-vms.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-request.ts';

export type ProvisionPorts = EventPorts & {
  readonly vms: VmCreation;
  readonly capacity: CapacityHistory;
  readonly replicas: ReplicaStore;
};

export type ProvisionMessage = { readonly jobId: string; readonly attempt: number; readonly placementRound: number };

/** When the stage acts, and what VMs are made from. */
export type ProvisionContext = {
  readonly now: TimestampMs;
  readonly settings: VmSettings;
  /** Lets so many milliseconds pass; a timer of this machine where none is given. */
  readonly pause?: (ms: number) => Promise<unknown>;
};

/**
 * The provision stage: chooses a place and writes it down, then creates every VM of the attempt there, all or none, and
 * reports. A second delivery finds the place chosen and the VMs there; a message about an older try changes nothing.
 */
export async function provision(
  ports: ProvisionPorts,
  message: ProvisionMessage,
  context: ProvisionContext,
): Promise<void> {
  const job = await readCurrent(ports, message);
  const placed = job?.status === 'QUEUED' ? await place(ports, job, context) : job;
  if (placed === undefined || !isPlaced(placed)) {
    return;
  }
  if (placed.status === 'RUNNING' || placed.instances.length > 0) {
    // A delivery before this one may have died before it had written down all replicas.
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
    await reportRefusal(ports, placed, { failure: created.failure, now });
  } else if ('pendingUntil' in created) {
    await reportWait(ports, placed, { until: created.pendingUntil, now });
  } else {
    await reportInstances(ports, placed, { instances: created.instances, now });
  }
}

async function readCurrent(ports: ProvisionPorts, message: ProvisionMessage): Promise<Job | undefined> {
  const job = (await ports.jobs.read(message.jobId))?.job;
  return job !== undefined && isCurrentRound(job, message) ? job : undefined;
}

async function place(
  ports: ProvisionPorts,
  job: JobIn<'QUEUED'>,
  { now, settings }: ProvisionContext,
): Promise<Job | undefined> {
  const { jobId, attempt, placementRound, spec } = job;
  const { provisioningModel } = spec;
  const query = { machineKey: machineKeyOf(job), provisioningModel, since: now - CAPACITY_FAILURE_AGE_MS_MAX };
  const choice = chooseZone(job, await ports.capacity.recall(query), { now, timeouts: ports.timeouts });
  const base = { jobId, at: now, attempt, placementRound };
  if (choice.zone === null) {
    const eventId = `no-place-${attempt}-${placementRound}`;
    await handleJobEvent(ports, { ...base, type: 'NO_PLACEMENT_LEFT', eventId, retryAt: choice.retryAt });
    return undefined;
  }
  const placement = {
    zone: choice.zone,
    provisioningModel,
    machineImage: settings.machineImageOf(spec.runtimeVersion),
  };
  await handleJobEvent(ports, {
    ...base,
    type: 'PLACEMENT_CHOSEN',
    eventId: `placed-${attempt}-${placementRound}`,
    placement,
  });
  // Read again: of two deliveries at once, the place that the other one wrote down is the one that counts.
  return readCurrent(ports, { jobId, attempt, placementRound });
}

async function reportRefusal(
  ports: ProvisionPorts,
  job: JobIn<'PREPARING'>,
  { failure, now }: { readonly failure: VmCreateFailure; readonly now: TimestampMs },
): Promise<void> {
  const { jobId, attempt, placement, placedAt } = job;
  if (!allReplicasCreated(job)) {
    // The VMs that came up beside the refused one are gone: neither their last words nor their silence end the attempt.
    await ports.replicas.clearLeases(jobId, attempt);
  }
  if (classOf(failure.cause) === 'capacity' || classOf(failure.cause) === 'quota') {
    const { zone, provisioningModel } = placement;
    await ports.capacity.record({ zone, provisioningModel, machineKey: machineKeyOf(job), failedAt: now });
  }
  // A place may outlast a search, when that was given up and begun anew: it refuses once all the same.
  const eventId = `refused-${attempt}-${placement.zone}-${placedAt}`;
  await handleJobEvent(ports, { type: 'PLACEMENT_FAILED', eventId, jobId, at: now, attempt, failure });
}

/** Nothing is running yet: the job looks again from time to time, and when the VM says its first word. */
async function reportWait(
  ports: ProvisionPorts,
  { jobId, attempt, placementRound }: PlacedJob,
  { until, now }: { readonly until: TimestampMs; readonly now: TimestampMs },
): Promise<void> {
  const eventId = `pending-${attempt}-${placementRound}`;
  await handleJobEvent(ports, { type: 'VMS_PENDING', eventId, jobId, at: now, attempt, placementRound, until });
}

/**
 * The VMs exist. Only those that the job then counts as its own are written down as replicas: of two deliveries at
 * once, each may have met another VM of the same name, and a record of the wrong one would take the right one's lease
 * away.
 */
async function reportInstances(
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
      // The sweeper would find it too; here it costs less.
      await ports.vms.delete({ vmName: instance.vmName, zone });
    }
  }
  if (owner !== undefined) {
    await expectReplicas(ports, owner, now);
  }
}

/** The record of a replica that has spoken already is left as it is. */
async function expectReplicas(ports: ProvisionPorts, job: PlacedJob, now: TimestampMs): Promise<void> {
  const firstWordAt = now + ports.timeouts.bootMs;
  for (const instance of job.instances) {
    await ports.replicas.record(expectedReplica(job, instance, { now, firstWordAt }));
  }
}

/**
 * A VM that has not spoken yet. The job's own boot deadline waits for the master; the others have a lease from the
 * start, for the master may run before they do and then nothing else would miss them. So has a master that takes the
 * place of one that had spoken and was lost before it was known: the job no longer waits for a first word then.
 */
function expectedReplica(
  job: PlacedJob,
  instance: Instance,
  { now, firstWordAt }: { readonly now: TimestampMs; readonly firstWordAt: TimestampMs },
) {
  const isAwaitedByJob = instance.role === 'master' && job.status === 'PREPARING' && job.reportedAt === null;
  return {
    jobId: job.jobId,
    attempt: job.attempt,
    replica: replicaName(instance),
    vmName: instance.vmName,
    instanceId: instance.instanceId,
    sequence: 0,
    heardAt: now,
    leaseExpiresAt: isAwaitedByJob ? null : firstWordAt,
    phase: 'BOOTING',
    usage: NO_USAGE,
    progress: NO_PROGRESS,
    exit: null,
  } as const;
}
