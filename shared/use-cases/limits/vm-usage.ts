import { priceOf } from '#shared/catalog/price.ts';
import { isPlaced, type Job, keptGroupOf } from '#shared/domain/job.ts';
import type { JobSpec, ProvisioningModel, ReplicaGroup } from '#shared/domain/job-spec.ts';
import {
  addUsage,
  findExceeded,
  NO_VMS,
  type VmLimit,
  type VmLimitName,
  type VmLimits,
  type VmUsage,
} from '#shared/domain/vm-limits.ts';

/**
 * The usage that a job counts against the limits of the deployment: the VMs of each placement that may still have some,
 * and of a job that has failed, the one that is kept.
 */
export function usageOf(job: Job): VmUsage {
  const isAdmitted = isPlaced(job) || (job.status === 'QUEUED' && job.isAdmitted);
  const placements = job.endedPlacements + (isAdmitted ? 1 : 0);
  if (job.status === 'CLOSING' && placements === 0 && job.kept !== null) {
    const { provisioningModel } = job.kept.placement;
    return usageOfPlacement({ replicaGroups: [keptGroupOf(job, job.kept)], provisioningModel });
  }
  return addUsage(NO_VMS, usageOfPlacement(job.spec), placements);
}

/** The usage of one placement of a job. */
export function usageOfPlacement({
  replicaGroups,
  provisioningModel,
}: Pick<JobSpec, 'replicaGroups' | 'provisioningModel'>): VmUsage {
  return replicaGroups.reduce((sum, { count, ...machine }) => {
    const perHourUsd = limitPriceOf({ ...machine, count: 1 }, provisioningModel);
    const priced = { microUsdPerHour: Math.round((perHourUsd ?? 0) * 1e6), unpricedVms: perHourUsd === null ? 1 : 0 };
    return addUsage(sum, { vms: 1, ...priced }, count);
  }, NO_VMS);
}

/** Flex-start costs no more than on demand where its price is not known (Compute Engine docs, "About Flex-start VMs"). */
function limitPriceOf(machine: ReplicaGroup, provisioningModel: ProvisioningModel): number | null {
  const own = priceOf([machine], provisioningModel).perHourUsd;
  return own === null && provisioningModel === 'FLEX_START' ? priceOf([machine], 'STANDARD').perHourUsd : own;
}

export type ExceededLimit = {
  readonly metric: VmLimitName;
  readonly limit: VmLimit;
  readonly message: string;
  /** Whether the VMs of the job exceed the limit by themselves. */
  readonly isTooLow: boolean;
};

/** The limit that the VMs of a job exceed with those that are `used`; null if they fit. */
export function findExceededLimit(spec: JobSpec, used: VmUsage, limits: VmLimits): ExceededLimit | null {
  const wanted = usageOfPlacement(spec);
  const metric = findExceeded(addUsage(used, wanted), limits);
  const limit = metric === null ? undefined : limits[metric];
  if (metric === null || limit === undefined) {
    return null;
  }
  const describe = metric === 'VMS_MAX' ? ({ vms }: VmUsage) => `${vms} ${vms === 1 ? 'VM' : 'VMs'}` : describePrice;
  const isTooLow = findExceeded(wanted, limits) !== null;
  const others = isTooLow ? '' : `, those of other jobs ${describe(used)},`;
  const isUnpriced = isTooLow && metric === 'USD_PER_HOUR_MAX' && wanted.unpricedVms > 0;
  const machines = spec.replicaGroups.map(({ machineType }) => machineType).join(', ');
  const message = isUnpriced
    ? `No price is known for ${machines} (${spec.provisioningModel}), and ${limit.reason}.`
    : `The job needs ${describe(wanted)}${others} and ${limit.reason}.`;
  return { metric, limit, message, isTooLow };
}

/** A price that is not known is not counted as zero. */
function describePrice({ microUsdPerHour, unpricedVms }: VmUsage): string {
  const known = `VMs for ${(microUsdPerHour / 1e6).toFixed(2)} US dollars an hour`;
  return unpricedVms === 0 ? known : `${known} and ${unpricedVms} of which no price is known`;
}
