import { priceOf } from '#shared/catalog/price.ts';
import { billedSince, isPlaced } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { RunningSummary } from '#shared/protocol/running-summary.ts';

/** Reads one record per unfinished job; beyond this number the summary is a lower bound. */
const JOBS_MAX = 200;

/** The VMs that are billed now, and their list price per hour. Trials count as the jobs that they are. */
export async function summarizeRunning({ jobs }: { readonly jobs: JobStore }): Promise<RunningSummary> {
  const unfinished = await jobs.listDue(Number.MAX_SAFE_INTEGER, JOBS_MAX);
  const read = await Promise.all(unfinished.map(async ({ id }) => (await jobs.read(id))?.record));
  const billed = read.filter((job) => job !== undefined).filter((job) => billedSince(job) !== null);
  const prices = billed.map((job) => {
    const { replicaGroups, provisioningModel } = job.spec;
    return priceOf(replicaGroups, isPlaced(job) ? job.placement.provisioningModel : provisioningModel).perHourUsd;
  });
  return {
    unfinishedJobs: unfinished.length,
    vms: billed.reduce((sum, { spec }) => sum + spec.replicaGroups.reduce((count, group) => count + group.count, 0), 0),
    perHourUsd: prices.some((price) => price === null)
      ? null
      : prices.reduce<number>((sum, usd) => sum + (usd ?? 0), 0),
    isLowerBound: unfinished.length === JOBS_MAX,
  };
}
