/** The rows of a list that are on a screen. */
export const SPARKLINES_PER_REQUEST_MAX = 50;
export const SPARKLINE_POINTS_MAX = 40;

/** The course of one metric of a job, for a list of jobs. */
export type Sparkline = {
  readonly jobId: string;
  readonly name: string;
  /** Steps, or milliseconds since the Unix epoch if the metric has none; increasing. */
  readonly positions: readonly number[];
  /** The values of the finite points, as many as positions; empty if there are none. */
  readonly values: readonly number[];
  /** No point is added any more. */
  readonly isFinal: boolean;
};

/**
 * `GET /v1/metrics/sparklines?series=JOB:METRIC&series=…`. A job that does not exist is left out, and so is one whose
 * history was not read because of a limit: request it again.
 */
export type Sparklines = { readonly sparklines: readonly Sparkline[] };
