import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf, classOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { type Instance, type JobIn, type PendingJob, replicasOf, type TimestampMs } from '#shared/domain/job.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { CreateOutcome, VmCreation, VmRequest } from '#shared/ports/vm-provider.ts';
import { type VmSettings, vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';

/** What has become of the VMs of an attempt: all are there, or they wait for capacity, or there are none. */
export type Created =
  | { readonly instances: readonly Instance[] }
  | { readonly pendingUntil: TimestampMs }
  | { readonly failure: VmCreateFailure };

export type VmPorts = { readonly vms: VmCreation; readonly timeouts: Timeouts };

type Context = {
  readonly now: TimestampMs;
  readonly settings: VmSettings;
  /** Lets so many milliseconds pass. */
  readonly pause?: (ms: number) => Promise<unknown>;
};

/**
 * Before those are asked for once more that Compute Engine refused for its pace alone: what was made of a cluster
 * beside them is kept meanwhile, or one that is larger than a burst would be made and deleted for ever. 70 s in all,
 * so that the stage has its answer before the job asks again (`provisionAnswerMs`).
 */
export const RATE_PAUSES_MS: readonly number[] = [10_000, 20_000, 40_000];

/**
 * Asks for every VM of the attempt, all or none: what was made beside a refused one is deleted again. Of a name that
 * was not given to this attempt, nothing is: it may be another's.
 */
export async function createVms(
  { vms, timeouts }: VmPorts,
  job: JobIn<'PREPARING'>,
  { now, settings, pause = sleep }: Context,
): Promise<Created> {
  const requests = replicasOf(job.spec).map((replica) => vmRequestOf(job, replica, { settings, timeouts }));
  const answers = await askPatiently(vms, requests, pause);
  const outcomes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const refused = outcomes.find((outcome) => outcome.outcome === 'FAILED');
  if (refused !== undefined) {
    const made = new Set(outcomes.flatMap(({ request, outcome }) => (outcome === 'FAILED' ? [] : [request])));
    // Those that gave no answer are looked for as well: their creation may have been under way.
    await Promise.all(requests.map((request) => (made.has(request) ? vms.delete(request) : deleteOwn(vms, request))));
    return { failure: refused.failure };
  }
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (failed !== undefined) {
    throw failed.reason;
  }
  const pending = outcomes.find((outcome) => outcome.outcome === 'PENDING');
  if (pending !== undefined) {
    return { pendingUntil: now + (pending.request.capacityWaitSeconds ?? 0) * 1_000 };
  }
  const instances = new Map(
    outcomes.flatMap((one) =>
      one.outcome === 'CREATED' ? [[one.request, toInstance(one.request, one.instanceId)]] : [],
    ),
  );
  return { instances: requests.flatMap((request) => instances.get(request) ?? []) };
}

type Refused = Extract<CreateOutcome, { outcome: 'FAILED' }> & { readonly request: VmRequest };
type Answer = PromiseSettledResult<CreateOutcome & { readonly request: VmRequest }>;

async function askPatiently(
  vms: VmCreation,
  requests: readonly VmRequest[],
  pause: NonNullable<Context['pause']>,
): Promise<readonly Answer[]> {
  let answers = await ask(vms, requests);
  for (const pauseMs of RATE_PAUSES_MS) {
    const hurried = answers.flatMap((answer) => (isHurried(answer) ? [answer.value.request] : []));
    const isRestMade = answers.every((answer) => isHurried(answer) || isMade(answer));
    if (hurried.length === 0 || hurried.length === answers.length || !isRestMade) {
      break;
    }
    await pause(pauseMs);
    answers = [...answers.filter(isMade), ...(await ask(vms, hurried))];
  }
  return answers;
}

function ask(vms: VmCreation, requests: readonly VmRequest[]): Promise<readonly Answer[]> {
  return Promise.allSettled(requests.map(async (request) => ({ request, ...(await vms.create(request)) })));
}

function isMade(answer: Answer): boolean {
  return answer.status === 'fulfilled' && answer.value.outcome !== 'FAILED';
}

function isHurried(answer: Answer): answer is PromiseFulfilledResult<Refused> {
  return (
    answer.status === 'fulfilled' && answer.value.outcome === 'FAILED' && classOf(answer.value.failure.cause) === 'rate'
  );
}

async function deleteOwn(vms: VmCreation, request: VmRequest): Promise<void> {
  const found = await vms.find(request);
  if (found?.jobId === request.jobId && found.attempt === request.attempt) {
    await vms.delete(request);
  }
}

function toInstance({ role, index, vmName }: Pick<VmRequest, 'role' | 'index' | 'vmName'>, instanceId: string) {
  return { role, index, vmName, instanceId };
}

/**
 * Looks after VMs that wait for capacity; undefined while they do. They are not asked for again: one that is gone has
 * waited for nothing, and another request would wait as long once more where another zone may have room.
 */
export async function findPendingVms(
  { vms, timeouts }: VmPorts,
  job: PendingJob,
  { now }: Pick<Context, 'now'>,
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
  const isTooLate = isWaiting && now >= job.pendingUntil + timeouts.pendingMs;
  if (isGone && job.reportedAt !== null) {
    // It was started, and lost before it was seen: its lease ends the attempt.
    return undefined;
  }
  if (isGone || isTooLate) {
    await Promise.all(wanted.map((vm) => vms.delete(vm)));
    return { failure: capacityWaitOver(job) };
  }
  if (isWaiting) {
    return undefined;
  }
  return { instances: found.flatMap(({ vm, ...wish }) => (vm === undefined ? [] : toInstance(wish, vm.instanceId))) };
}

function capacityWaitOver({ placement, placedAt, pendingUntil, spec }: PendingJob): VmCreateFailure {
  const minutes = Math.round((pendingUntil - placedAt) / 60_000);
  const [{ machineType }] = spec.replicaGroups;
  const message = `No ${machineType} came free in ${placement.zone}, where the request was to wait up to ${minutes} min.`;
  return { cause: causeOf('STOCKOUT', message), zonesAvailable: [] };
}
