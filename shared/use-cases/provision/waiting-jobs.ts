import { quotaDemandOf } from '#shared/catalog/quota-demand.ts';
import type { Job, TimestampMs, WaitedLimit } from '#shared/domain/job.ts';
import { isBefore, type WaitingJob, zonesOf } from '#shared/domain/waiting-order.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

/** How many of the waiting jobs are read; the jobs after them are compared with these. */
export const WAITING_JOBS_MAX = 20;

/**
 * The jobs before this one that wait for a limit which it needs, too, in order. What becomes free is held for them: a
 * cluster would otherwise never have all of its VMs at once.
 */
export async function listEarlier(jobs: JobStore, job: Job): Promise<readonly WaitingJob[]> {
  const waiting = await jobs.listWaiting(WAITING_JOBS_MAX);
  return waiting.filter((other) => isBefore(other, job) && needs(job, other.waitsFor));
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
  const waiting = await ports.jobs.listWaiting(WAITING_JOBS_MAX);
  const first = waiting.filter((job, index) => !waiting.slice(0, index).some(({ waitsFor }) => needs(job, waitsFor)));
  for (const { jobId } of first) {
    await handleJobEvent(ports, { type: 'CAPACITY_FREED', eventId: `freed-${reason}`, jobId, at: now });
  }
}

function needs(job: Job, limit: WaitedLimit): boolean {
  const isCounted = !limit.metric.startsWith('PREEMPTIBLE_') || job.spec.provisioningModel !== 'STANDARD';
  return isCounted && zonesOf(limit, job).length > 0 && quotaDemandOf(job.spec.replicaGroups, limit) !== null;
}
