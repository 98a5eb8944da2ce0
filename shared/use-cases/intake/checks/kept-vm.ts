import { priceOf } from '#shared/catalog/price.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import type { Check, Found } from '#shared/use-cases/intake/checks/check.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Whether the deployment keeps the VM of a failed program for as long as the job wants, at its price. */
export const checkKeptVm: Check = ({ draft: { keepOnFailure }, spec }, { intake: { keeping } }) => {
  const { keepOnFailureMs } = spec.limits;
  if (keepOnFailure === undefined || keepOnFailureMs === 0) {
    return {};
  }
  const location = locationOf(keepOnFailure);
  if (keepOnFailureMs <= keeping.msMax) {
    return checkCost(spec, keeping.costUsdMax, location);
  }
  const isOff = keeping.msMax === 0;
  const minutesMax = keeping.msMax / MINUTE_MS;
  const message = isOff
    ? 'This deployment keeps no VMs after a failure.'
    : `The job keeps its VM for ${keepOnFailureMs / MINUTE_MS} min after a failure; this deployment allows ${minutesMax} min.`;
  const remedy = `${isOff ? 'Remove it' : `Write ${minutesMax}m or less`}, or have the limit raised: keep_on_failure_max in Terraform, keepOnFailureSecondsMax in the embedded cloud.`;
  return { problems: [{ code: 'KEPT_TOO_LONG', message, remedy, ...location }] };
};

/** One VM is kept: of a cluster, at most the dearest. */
function checkCost(spec: JobSpec, costUsdMax: number, location: SourceLocation): Found {
  const { keepOnFailureMs } = spec.limits;
  const prices = spec.replicaGroups.map(
    (group) => priceOf([{ ...group, count: 1 }], spec.provisioningModel).perHourUsd,
  );
  if (prices.some((price) => price === null)) {
    const message = `The price of a machine of this job is not known, so that the limit of ${usd(costUsdMax)} for a VM that is kept cannot be checked.`;
    const remedy = 'No action needed: it is kept no longer than keepOnFailure says.';
    return { warnings: [{ code: 'KEPT_PRICE_UNKNOWN', message, remedy, ...location }] };
  }
  const perHourUsd = Math.max(...prices.map((price) => price ?? 0));
  const costUsd = (perHourUsd * keepOnFailureMs) / HOUR_MS;
  if (costUsd <= costUsdMax) {
    return {};
  }
  const minutes = Math.floor((costUsdMax / perHourUsd) * 60);
  const message = `Keeping a VM of this job for ${keepOnFailureMs / MINUTE_MS} min after a failure would cost ${usd(costUsd)}; this deployment allows ${usd(costUsdMax)}.`;
  const less = minutes < 1 ? 'Remove it' : `Write ${minutes}m or less`;
  const remedy = `${less}, choose a cheaper machine, or have the limit raised: keep_on_failure_cost_max_usd in Terraform, keepOnFailureCostUsdMax in the embedded cloud.`;
  return { problems: [{ code: 'KEPT_TOO_DEAR', message, remedy, ...location }] };
}

function usd(amount: number): string {
  return `${amount.toFixed(2)} USD`;
}
