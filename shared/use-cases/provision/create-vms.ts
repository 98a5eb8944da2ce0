import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf, classOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { type Instance, type JobIn, type PendingJob, replicasOf, type TimestampMs } from '#shared/domain/job.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { CreateOutcome, Vm, VmCreation, VmRequest } from '#shared/ports/vm-provider.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';

/** The state of an attempt's VMs: all exist, or they wait for capacity, or none exists. */
export type Created =
  | { readonly instances: readonly Instance[] }
  /** `startedVms`: how many do not wait any more, and are billed. */
  | { readonly pendingUntil: TimestampMs; readonly startedVms: number }
  | CreationFailure;

export type CreationFailure = {
  readonly failure: VmCreateFailure;
  /** The VM that failed, if it was one of them. */
  readonly failed?: VmRequest;
  /** How many were created and deleted again, at most. */
  readonly vmsCreated: number;
  readonly areVmsGone: boolean;
};

export type VmPorts = { readonly vms: VmCreation; readonly timeouts: Timeouts };

export type ProvisionContext = {
  readonly now: TimestampMs;
  readonly settings: VmSettings;
  /** Sleep function; defaults to a timer. */
  readonly pause?: (ms: number) => Promise<unknown>;
};

/**
 * Backoff before rate-limited requests are repeated. The other VMs of the cluster are kept meanwhile: a cluster larger
 * than a burst would otherwise be created and deleted indefinitely. 70 s in total, so that the stage has its answer
 * before the job repeats the request (`provisionAnswerMs`).
 */
export const RATE_PAUSES_MS: readonly number[] = [10_000, 20_000, 40_000];

/**
 * Creates every VM of the attempt, all or none: if one cannot be created, those that were are deleted again. A VM whose
 * creation had no answer is deleted only if it belongs to this attempt, since the name can be taken by another VM.
 */
export async function createVms(
  { vms, timeouts }: VmPorts,
  job: JobIn<'PREPARING'>,
  { now, settings, pause = sleep }: ProvisionContext,
): Promise<Created> {
  const requests = replicasOf(job.spec).map((replica) => vmRequestOf(job, replica, { settings, timeouts }));
  const shortage = await vms.findShortage(requests);
  if (shortage !== undefined) {
    // Those of a delivery that has crashed.
    const areVmsGone = await areAllGone(requests.map((request) => deleteOwn(vms, request)));
    return { failure: shortage, vmsCreated: 0, areVmsGone };
  }
  const answers = await createWithRetry(vms, requests, pause);
  const outcomes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const failed = outcomes.find((outcome) => outcome.outcome === 'FAILED');
  if (failed !== undefined) {
    const created = new Set(outcomes.flatMap(({ request, outcome }) => (outcome === 'FAILED' ? [] : [request])));
    // Requests without an answer are looked up as well: their creation may have been under way.
    const areVmsGone = await areAllGone(
      requests.map((request) => (created.has(request) ? vms.delete(request) : deleteOwn(vms, request))),
    );
    const { failure, request } = failed;
    return { failure, failed: request, vmsCreated: answers.filter(isBilled).length, areVmsGone };
  }
  const rejected = answers.find((answer) => answer.status === 'rejected');
  if (rejected !== undefined) {
    throw rejected.reason;
  }
  const pending = outcomes.find((outcome) => outcome.outcome === 'PENDING');
  if (pending !== undefined) {
    const startedVms = outcomes.filter(({ outcome }) => outcome === 'CREATED').length;
    return { pendingUntil: now + (pending.request.capacityWaitSeconds ?? 0) * 1_000, startedVms };
  }
  const instances = new Map(
    outcomes.flatMap((one) =>
      one.outcome === 'CREATED' ? [[one.request, toInstance(one.request, one.instanceId)]] : [],
    ),
  );
  return { instances: requests.flatMap((request) => instances.get(request) ?? []) };
}

type Failed = Extract<CreateOutcome, { outcome: 'FAILED' }> & { readonly request: VmRequest };
type Answer = PromiseSettledResult<CreateOutcome & { readonly request: VmRequest }>;

/** Repeats rate-limited requests, provided some others succeeded and none failed for another reason. */
async function createWithRetry(
  vms: VmCreation,
  requests: readonly VmRequest[],
  pause: NonNullable<ProvisionContext['pause']>,
): Promise<readonly Answer[]> {
  let answers = await createAll(vms, requests);
  for (const pauseMs of RATE_PAUSES_MS) {
    const rateLimited = answers.flatMap((answer) => (isRateLimited(answer) ? [answer.value.request] : []));
    const isRestCreated = answers.every((answer) => isRateLimited(answer) || isCreated(answer));
    if (rateLimited.length === 0 || rateLimited.length === answers.length || !isRestCreated) {
      break;
    }
    await pause(pauseMs);
    answers = [...answers.filter(isCreated), ...(await createAll(vms, rateLimited))];
  }
  return answers;
}

function createAll(vms: VmCreation, requests: readonly VmRequest[]): Promise<readonly Answer[]> {
  return Promise.allSettled(requests.map(async (request) => ({ request, ...(await vms.create(request)) })));
}

function isCreated(answer: Answer): boolean {
  return answer.status === 'fulfilled' && answer.value.outcome !== 'FAILED';
}

/** A request without an answer may have created a VM. */
function isBilled(answer: Answer): boolean {
  return answer.status === 'rejected' || answer.value.outcome === 'CREATED';
}

function isRateLimited(answer: Answer): answer is PromiseFulfilledResult<Failed> {
  return (
    answer.status === 'fulfilled' && answer.value.outcome === 'FAILED' && classOf(answer.value.failure.cause) === 'rate'
  );
}

type Deletion = ReturnType<VmCreation['delete']>;

async function deleteOwn(vms: VmCreation, request: VmRequest): Deletion {
  const found = await vms.find(request);
  const isOwn = found?.jobId === request.jobId && found.attempt === request.attempt;
  return isOwn ? vms.delete(request) : 'GONE';
}

async function areAllGone(deletions: readonly Deletion[]): Promise<boolean> {
  return (await Promise.all(deletions)).every((outcome) => outcome === 'GONE');
}

function toInstance({ role, index, vmName }: Pick<VmRequest, 'role' | 'index' | 'vmName'>, instanceId: string) {
  return { role, index, vmName, instanceId };
}

/**
 * Checks VMs that wait for capacity; returns undefined while all of them do. Compute Engine has canceled the request
 * for a VM that is gone. It is not requested again: the next request would wait as long, while another zone may have
 * capacity. Of a cluster, those that have started are kept for `assemblyMs`, since they are billed.
 */
export async function findPendingVms(
  { vms, timeouts }: VmPorts,
  job: PendingJob,
  { now }: Pick<ProvisionContext, 'now'>,
): Promise<Created | undefined> {
  const { zone } = job.placement;
  const wanted = replicasOf(job.spec).map((replica) => ({
    ...replica,
    vmName: vmNameOf(job.jobId, job.attempt, replica),
    zone,
  }));
  const found = await Promise.all(wanted.map(async (vm) => ({ ...vm, vm: await vms.find(vm) })));
  const isGone = found.some(({ vm }) => vm === undefined);
  const isWaiting = found.some(({ vm }) => vm?.status === 'PENDING' || vm?.status === 'STOPPING');
  const startedVms = found.filter(({ vm }) => vm?.status === 'STARTING' || vm?.status === 'RUNNING').length;
  const isKeptTooLong = job.assemblingSince !== null && now >= job.assemblingSince + timeouts.assemblyMs;
  const isOverdue = isWaiting && (now >= job.pendingUntil + timeouts.pendingMs || isKeptTooLong);
  const isMasterGone = found.some(({ role, vm }) => role === 'master' && vm === undefined);
  if (isMasterGone && job.reportedAt !== null) {
    // It was started, and lost before this check: its lease ends the attempt.
    return undefined;
  }
  if (isGone || isOverdue) {
    const areVmsGone = await areAllGone(wanted.map((vm) => vms.delete(vm)));
    const vmsCreated = found.filter(({ vm }) => (vm === undefined ? mayHaveStarted(job, now) : hasStarted(vm))).length;
    return { failure: capacityWaitOver(job, { startedVms, vmsCreated, now }), vmsCreated, areVmsGone };
  }
  if (isWaiting) {
    return startedVms === 0 ? undefined : { pendingUntil: job.pendingUntil, startedVms };
  }
  return {
    instances: found.flatMap(({ vm, ...replica }) => (vm === undefined ? [] : toInstance(replica, vm.instanceId))),
  };
}

/**
 * Whether a VM that is gone may have been billed: Compute Engine cancels no request early, and another delivery of the
 * same message may have deleted VMs that had started.
 */
function mayHaveStarted({ assemblingSince, pendingUntil }: PendingJob, now: TimestampMs): boolean {
  return assemblingSince !== null || now < pendingUntil;
}

/** A VM whose request was canceled is STOPPING until it is gone. */
function hasStarted({ status }: Vm): boolean {
  return status !== 'PENDING' && status !== 'STOPPING';
}

type Found = { readonly startedVms: number; readonly vmsCreated: number; readonly now: TimestampMs };

function capacityWaitOver(
  { placement, placedAt, assemblingSince, pendingUntil, spec }: PendingJob,
  { startedVms, vmsCreated, now }: Found,
): VmCreateFailure {
  const [{ machineType }] = spec.replicaGroups;
  const minutes = Math.round((pendingUntil - placedAt) / 60_000);
  const waited = Math.ceil((now - (assemblingSince ?? now)) / 60_000);
  const age = Math.ceil((now - placedAt) / 60_000);
  const message =
    startedVms > 0
      ? `Only ${startedVms} of ${replicasOf(spec).length} VMs of type ${machineType} had started in ${placement.zone}, and had waited for the others for ${waited} min: they were deleted.`
      : vmsCreated > 0
        ? `Of the VMs of type ${machineType} in ${placement.zone}, ${vmsCreated} were gone ${age} min after their request, before all were confirmed to have started.`
        : `No capacity for ${machineType} became available in ${placement.zone} within the ${minutes} min that the request could wait.`;
  return { cause: causeOf('STOCKOUT', message), zonesAvailable: [] };
}
