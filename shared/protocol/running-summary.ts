/** `GET /v1/running`: what runs now, over all jobs. */
export type RunningSummary = {
  readonly unfinishedJobs: number;
  /** VMs that are billed. */
  readonly vms: number;
  /** List price of the VMs; null if one is unknown. */
  readonly perHourUsd: number | null;
  /** Whether there are more unfinished jobs than were counted. */
  readonly isLowerBound: boolean;
};
