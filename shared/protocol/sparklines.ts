import { z } from 'zod';

/** The rows of a list that are on a screen. */
export const SPARKLINES_PER_REQUEST_MAX = 50;
export const SPARKLINE_POINTS_MAX = 40;

/**
 * `GET /v1/metrics/sparklines?series=JOB:METRIC&series=…`: the course of one metric of each job, for a list of jobs. A job
 * that does not exist is left out, and so is one whose history was not read because of a limit: request it again.
 */
export const sparklinesSchema = z.object({
  sparklines: z.array(
    z.object({
      jobId: z.string(),
      name: z.string(),
      /** Steps, or milliseconds since the Unix epoch if the metric has none; increasing. */
      positions: z.array(z.number()),
      /** Of the finite points, as many as positions; empty if there are none. */
      values: z.array(z.number()),
      /** No point is added any more. */
      isFinal: z.boolean(),
    }),
  ),
});

export type Sparkline = z.infer<typeof sparklinesSchema>['sparklines'][number];
