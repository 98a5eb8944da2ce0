import { priceOf } from '#shared/catalog/price.ts';
import { billedSince, type Job, type TimestampMs } from '#shared/domain/job.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** Compute Engine bills a VM for at least a minute, then by the second (docs, "VM instance pricing"). */
const BILLED_SECONDS_MIN = 60;

/** List price of the job's VMs, from the placement of each attempt until its end. */
export function priceOfJob(job: Job, now: TimestampMs): JobView['price'] {
  const current = { placedAt: billedSince(job), endedAt: now };
  const billedSeconds = [...job.ledger, current].reduce((sum, { placedAt, endedAt }) => {
    return placedAt === null ? sum : sum + Math.max(BILLED_SECONDS_MIN, Math.ceil((endedAt - placedAt) / 1_000));
  }, 0);
  const { perHourUsd, asOf } = priceOf(job.spec.replicaGroups, job.spec.provisioningModel);
  const totalUsd = perHourUsd === null ? null : (perHourUsd * billedSeconds) / 3_600;
  return { perHourUsd, billedSeconds, totalUsd, asOf };
}
