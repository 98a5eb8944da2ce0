/** How often whoever follows a job asks for news. */
export type Pace = {
  /** Until the second look; each wait is twice the one before, up to `lookMs`. */
  readonly firstMs: number;
  /** Between looks at the job and its log, once the following has gone on for a while. */
  readonly lookMs: number;
  /** Between two pages of a log that has more to give. */
  readonly pageMs: number;
};

/** The embedded cloud has no quota, and nobody else to serve. */
export const EMBEDDED_PACE: Pace = { firstMs: 300, lookMs: 300, pageMs: 0 };

/**
 * A page is one read of Cloud Logging, which a project has 60 of a minute, for everybody together (docs, "Quotas and
 * limits", entries.list): here one follower takes 12 a minute, and 30 while it catches up.
 */
export const DEPLOYMENT_PACE: Pace = { firstMs: 1_000, lookMs: 5_000, pageMs: 2_000 };
