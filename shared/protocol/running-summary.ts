import * as z from 'zod';

/** `GET /v1/running`: what runs now, over all jobs. */
export const runningSummarySchema = z.object({
  unfinishedJobs: z.int().nonnegative(),
  /** VMs that are billed. */
  vms: z.int().nonnegative(),
  /** List price of the VMs; null if one is unknown. */
  perHourUsd: z.number().nullable(),
  /** Whether there are more unfinished jobs than were counted. */
  isLowerBound: z.boolean(),
});

export type RunningSummary = Readonly<z.infer<typeof runningSummarySchema>>;
