import type { Job, TimestampMs } from '#shared/domain/job.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';
import { type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';

/**
 * An entry of the capacity history, shared by all jobs: a zone that was out of capacity, or of quota, for a machine, or
 * in which a GPU of the machine was faulty.
 */
export type CapacityFailure = {
  readonly zone: string;
  /** Machine types and accelerators, as `machineKeyOf` writes them. */
  readonly machineKey: string;
  readonly provisioningModel: ProvisioningModel;
  readonly failedAt: TimestampMs;
};

/**
 * The failure of the zone in which a GPU of the attempt before was faulty, if one was: the next VM there can be on the
 * same host. One that only a line of the program shows is no reason for other jobs to avoid the zone.
 */
export function faultyGpuOf(job: Job): CapacityFailure | undefined {
  const { zone, provisioningModel, cause, endedAt } = job.ledger.at(-1) ?? { zone: null };
  return zone === null || !provisioningModel || cause?.code !== 'GPU_FAILED' || cause.diagnosis?.line !== undefined
    ? undefined
    : { zone, provisioningModel, machineKey: machineKeyOf(job), failedAt: endedAt };
}

/** Half-life of a failure's penalty, which decays exponentially. */
export const CAPACITY_FAILURE_HALF_LIFE_MS = 600_000;

/** Failures older than this are ignored and may be deleted. */
export const CAPACITY_FAILURE_AGE_MS_MAX = 10 * CAPACITY_FAILURE_HALF_LIFE_MS;

/**
 * Identifies the machines that a job needs: jobs with equal keys compete for the same stock. Machines of another
 * provisioning model than the job's have it in their name.
 */
export function machineKeyOf({ spec }: Pick<Job, 'spec'>): string {
  const groups = spec.replicaGroups.map(({ machineType, accelerator, provisioningModel }) => {
    const machine = accelerator === null ? machineType : `${machineType}+${accelerator.count}x${accelerator.type}`;
    return provisioningModel === null ? machine : `${machine}:${provisioningModel}`;
  });
  return [...new Set(groups)].sort().join(',');
}

export type ZoneChoice = { readonly zone: string } | { readonly zone: null; readonly retryAt: TimestampMs };

/**
 * The next zone of the zone fallback: the one with the lowest penalty, in the job's own order if equal. Zones that this
 * attempt has exhausted and zones with a failure within the cool-down are skipped. If none is left, when to retry from
 * the first zone.
 */
export function chooseZone(
  job: Job,
  failures: readonly CapacityFailure[],
  { now, timeouts }: { readonly now: TimestampMs; readonly timeouts: Timeouts },
): ZoneChoice {
  const [best] = job.zones
    .filter((zone) => !job.exhaustedZones.includes(zone))
    .map((zone, order) => ({ zone, order, ...penaltyOf(zone, failures, now) }))
    .filter(({ lastFailedAt }) => now - lastFailedAt >= timeouts.coolDownMs)
    .sort((a, b) => a.penalty - b.penalty || a.order - b.order);
  if (best !== undefined) {
    return { zone: best.zone };
  }
  const { createFailures, unusedVms } = job.counts;
  // A quota rules out all zones of a round at once.
  const failuresPerRound = job.waitsFor === null ? Math.max(1, job.zones.length) : 1;
  const rounds = Math.floor(createFailures / failuresPerRound);
  return { zone: null, retryAt: now + zoneFallbackBackoffMs(rounds, timeouts, { hasUnusedVms: unusedVms > 0 }) };
}

function penaltyOf(zone: string, failures: readonly CapacityFailure[], now: TimestampMs) {
  const times = failures.filter((failure) => failure.zone === zone).map(({ failedAt }) => failedAt);
  return {
    penalty: times.reduce((sum, failedAt) => sum + 0.5 ** ((now - failedAt) / CAPACITY_FAILURE_HALF_LIFE_MS), 0),
    lastFailedAt: times.reduce((last, failedAt) => Math.max(last, failedAt), Number.NEGATIVE_INFINITY),
  };
}
