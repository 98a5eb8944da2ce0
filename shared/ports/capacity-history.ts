import type { CapacityFailure } from '#shared/domain/capacity.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';

/** What all jobs learnt about full zones. Forgetting it costs retries, never correctness. */
export type CapacityHistory = {
  record(failure: CapacityFailure): Promise<void>;
  /** Refusals of this machine since the given time; at most a few hundred. */
  recall(query: {
    readonly machineKey: string;
    readonly provisioningModel: ProvisioningModel;
    readonly since: TimestampMs;
  }): Promise<readonly CapacityFailure[]>;
};
