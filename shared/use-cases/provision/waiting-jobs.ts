import { groupsCountedBy, quotaDemandOf } from '#shared/catalog/quota-demand.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type JobSpec, type ProvisioningModel, provisioningModelOf } from '#shared/domain/job-spec.ts';
import { findExceeded, isVmLimitName } from '#shared/domain/vm-limits.ts';
import { isBefore, type WaitingJob, zonesOf } from '#shared/domain/waiting-order.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { usageOfPlacement } from '#shared/use-cases/limits/vm-usage.ts';

/** How many of the waiting jobs are read. Jobs after them are compared with these only. */
export const WAITING_JOBS_MAX = 100;

/**
 * The jobs before this one that wait for a limit which it needs, too, in order. What becomes free is held for them: a
 * cluster would otherwise never have all of its VMs at once.
 */
export async function listEarlier(jobs: JobStore, job: Job): Promise<readonly WaitingJob[]> {
  const waiting = await jobs.listWaiting(WAITING_JOBS_MAX);
  return waiting.filter((other) => isBefore(other, job) && needs(job, other));
}

/** The job's zones in which none of these jobs waits. */
export function zonesAfter(earlier: readonly WaitingJob[], job: Job): readonly string[] {
  const held = new Set(earlier.flatMap(({ waitsFor }) => zonesOf(waitsFor, job)));
  return job.zones.filter((zone) => !held.has(zone));
}

/**
 * The first job of each limit tries again: VMs are gone (`reason` names them), or the job before it has its own. A lost
 * message costs time only, since every waiting job has a deadline.
 */
export async function wakeWaitingJobs(ports: EventPorts, reason: string, now: TimestampMs): Promise<void> {
  await wakeFirst(ports, () => true, { reason, now });
}

/** The same for what a job leaves of the limits of the deployment without having had VMs. */
export async function wakeForVmLimits(ports: EventPorts, reason: string, now: TimestampMs): Promise<void> {
  await wakeFirst(ports, ({ waitsFor }) => isVmLimitName(waitsFor.metric), { reason, now });
}

async function wakeFirst(
  ports: EventPorts,
  isWoken: (job: WaitingJob) => boolean,
  { reason, now }: { readonly reason: string; readonly now: TimestampMs },
): Promise<void> {
  const waiting = await ports.jobs.listWaiting(WAITING_JOBS_MAX);
  const first = waiting.filter((job, index) => !waiting.slice(0, index).some((earlier) => needs(job, earlier)));
  for (const { jobId } of first.filter(isWoken)) {
    await handleJobEvent(ports, { type: 'CAPACITY_FREED', eventId: `freed-${reason}`, jobId, at: now });
  }
}

/** A job that needs more than the limit is not held: it is to fail at once. */
function needs(job: Job, { waitsFor, spec }: WaitingJob): boolean {
  if (isVmLimitName(waitsFor.metric)) {
    // Admitted already, or to fail at once.
    const isAdmitted = job.status === 'QUEUED' && job.isAdmitted;
    return (
      !isAdmitted && findExceeded(usageOfPlacement(job.spec), { [waitsFor.metric]: { max: waitsFor.limit } }) === null
    );
  }
  const { metric } = waitsFor;
  // Spot VMs use a standard quota if a Spot job waits for it; of a job with others, too, at least those use it.
  const isShown = modelsOf(spec).some(isPreemptible) || job.waitsFor?.metric === metric;
  const isSpotInStandard = metric === 'INSTANCES' || (isShown && modelsOf(job.spec).every(isPreemptible));
  const demand = quotaDemandOf(groupsCountedBy(metric, job.spec, { isSpotInStandard }), waitsFor);
  return zonesOf(waitsFor, job).length > 0 && demand !== null && demand <= waitsFor.limit;
}

function modelsOf({ replicaGroups, provisioningModel }: JobSpec): readonly ProvisioningModel[] {
  return replicaGroups.map((group) => provisioningModelOf(group, provisioningModel));
}

const isPreemptible = (model: ProvisioningModel) => model !== 'STANDARD';
