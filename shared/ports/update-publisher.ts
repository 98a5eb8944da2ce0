import type { JobUpdate } from '#shared/domain/effect.ts';

/** The topic `job-updates`, which users subscribe to. */
export type UpdatePublisher = {
  /** Publishes the update with a snapshot of its job or tuning. Safe to call twice for one update. */
  publish(update: JobUpdate): Promise<unknown>;
};
