import { type Job, type JobIn, regionOf, type WaitedLimit } from '#shared/domain/job.ts';

/** A job that has no VMs, and waits until those of other jobs are gone. */
export type WaitingJob = (JobIn<'QUEUED'> | JobIn<'PREPARING'>) & { readonly waitsFor: WaitedLimit };

export function isWaiting(job: Job): job is WaitingJob {
  return (job.status === 'QUEUED' || job.status === 'PREPARING') && job.waitsFor !== null;
}

/** Jobs start in the order of these numbers, and of their ids if equal. It never changes, whatever interrupts the job. */
export function orderKeyOf({ createdAt }: Pick<Job, 'createdAt'>): number {
  return createdAt;
}

export function isBefore(one: Job, other: Job): boolean {
  const difference = orderKeyOf(one) - orderKeyOf(other);
  return difference === 0 ? one.jobId < other.jobId : difference < 0;
}

/** The job's zones in which the limit applies. */
export function zonesOf({ region }: WaitedLimit, { zones }: Pick<Job, 'zones'>): readonly string[] {
  return region === null ? zones : zones.filter((zone) => regionOf(zone) === region);
}
