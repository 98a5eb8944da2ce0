import type { CapacityFailure } from '#shared/domain/capacity.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';

/** Capacity failures of all jobs. Losing entries costs retries, never correctness. */
export type CapacityHistory = {
  record(failure: CapacityFailure): Promise<void>;
  /** Failures for this machine since the given time; at most a few hundred, the newest. */
  recall(query: {
    readonly machineKey: string;
    readonly provisioningModel: ProvisioningModel;
    readonly since: TimestampMs;
  }): Promise<readonly CapacityFailure[]>;
};
