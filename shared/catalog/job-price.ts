import { type Price, priceOf } from '#shared/catalog/price.ts';
import { billedSince, type Job, type KeptVm, keptGroupOf, type TimestampMs } from '#shared/domain/job.ts';

/** Compute Engine bills a VM for at least a minute, then by the second (docs, "VM instance pricing"). */
const BILLED_SECONDS_MIN = 60;

export type JobPrice = Pick<Price, 'perHourUsd' | 'asOf'> & {
  readonly billedSeconds: number;
  /** Null if a price is unknown. */
  readonly totalUsd: number | null;
};

/** List price of the job's VMs, from the placement of each attempt until its end, and of one that was kept after it. */
export function priceOfJob(job: Job, now: TimestampMs): JobPrice {
  const current = { placedAt: billedSince(job), endedAt: now };
  const billedSeconds = [...job.ledger, current].reduce((sum, { placedAt, endedAt }) => {
    return placedAt === null ? sum : sum + Math.max(BILLED_SECONDS_MIN, Math.ceil((endedAt - placedAt) / 1_000));
  }, 0);
  const { perHourUsd, asOf } = priceOf(job.spec.replicaGroups, job.spec.provisioningModel);
  const totalUsd = perHourUsd === null ? null : (perHourUsd * billedSeconds) / 3_600 + keptUsd(job, now);
  return { perHourUsd, billedSeconds, totalUsd, asOf };
}

/** List price of the VM that a job keeps; null if it is unknown. */
export function keptPerHourUsd(job: Job, kept: KeptVm): number | null {
  return priceOf([keptGroupOf(job, kept)], kept.placement.provisioningModel).perHourUsd;
}

function keptUsd(job: Job, now: TimestampMs): number {
  const kept = 'kept' in job ? job.kept : null;
  if (kept === null) {
    return 0;
  }
  const keptMs = Math.max(0, (kept.releasedAt ?? now) - kept.since);
  return ((keptPerHourUsd(job, kept) ?? 0) * keptMs) / 3_600_000;
}
