import type { Effect } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import type { VmLimits, VmUsage } from '#shared/domain/vm-limits.ts';
import type { WaitingJob } from '#shared/domain/waiting-order.ts';
import type { RecordStore } from '#shared/machine/record-store.ts';

/** The facts that are committed with a job. */
export type JobFacts = {
  /** The job uses this from now on. If it is missing, the job uses what it used before. */
  readonly usage?: VmUsage | undefined;
  /** The commit is rejected if more is used than before, and more than this by all jobs together. */
  readonly limits?: VmLimits | undefined;
};

/** Stores jobs. The jobs of trials are not listed. */
export type JobStore = RecordStore<Job, Effect, JobFacts> & {
  /** Returns the sum of what all jobs use, which each commit of a job updates. */
  readUsage(): Promise<VmUsage>;
  /** The jobs that wait for others to end (`isWaiting`), in their order (`isBefore`). Reads only those. */
  listWaiting(countMax: number): Promise<readonly WaitingJob[]>;
};
