import type { Job, TimestampMs } from '#shared/domain/job.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';
import { type Timeouts, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';

/** A place that refused a machine: remembered for all jobs, and forgotten by halves. */
export type CapacityFailure = {
  readonly zone: string;
  /** Machine type and accelerators, as `machineKeyOf` writes them. */
  readonly machineKey: string;
  readonly provisioningModel: ProvisioningModel;
  readonly failedAt: TimestampMs;
};

/** After so long a failure weighs half as much against a zone. */
export const CAPACITY_FAILURE_HALF_LIFE_MS = 600_000;

/** Refusals older than this no longer count and need not be kept. */
export const CAPACITY_FAILURE_AGE_MS_MAX = 10 * CAPACITY_FAILURE_HALF_LIFE_MS;

/** The scarcest machine decides where a job can run; equal keys compete for the same stock. */
export function machineKeyOf(job: Pick<Job, 'spec'>): string {
  const groups = job.spec.replicaGroups.map(({ machineType, accelerator }) =>
    accelerator === null ? machineType : `${machineType}+${accelerator.count}x${accelerator.type}`,
  );
  return [...new Set(groups)].sort().join(',');
}

export type ZoneChoice = { readonly zone: string } | { readonly zone: null; readonly retryAt: TimestampMs };

/**
 * The next zone to ask: none that refused this attempt since the ladder was begun, none that has just refused anybody,
 * the least blamed first, otherwise in the job's own order. Without one, when to begin the ladder again.
 */
export function chooseZone(
  job: Job,
  failures: readonly CapacityFailure[],
  { now, timeouts }: { readonly now: TimestampMs; readonly timeouts: Timeouts },
): ZoneChoice {
  const open = job.zones.filter((zone) => !job.refusedZones.includes(zone));
  const blamed = open
    .map((zone, order) => ({ zone, order, ...blameOf(zone, failures, now) }))
    .filter(({ lastRefusedAt }) => now - lastRefusedAt >= timeouts.coolDownMs)
    .sort((a, b) => a.blame - b.blame || a.order - b.order);
  const [first] = blamed;
  if (first !== undefined) {
    return { zone: first.zone };
  }
  const rounds = Math.floor(job.counts.refusals / Math.max(1, job.zones.length));
  return { zone: null, retryAt: now + zoneFallbackBackoffMs(rounds, timeouts) };
}

function blameOf(zone: string, failures: readonly CapacityFailure[], now: TimestampMs) {
  const own = failures.filter((failure) => failure.zone === zone);
  return {
    blame: own.reduce((sum, { failedAt }) => sum + 0.5 ** ((now - failedAt) / CAPACITY_FAILURE_HALF_LIFE_MS), 0),
    lastRefusedAt: own.reduce((last, { failedAt }) => Math.max(last, failedAt), Number.NEGATIVE_INFINITY),
  };
}
