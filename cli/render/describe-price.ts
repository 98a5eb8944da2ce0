import { gpusOf } from '#shared/catalog/catalog.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { type JobSpec, provisioningModelOf } from '#shared/domain/job-spec.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { PROVISIONING_MODELS } from '#shared/views/describe/describe-machines.ts';

const HOUR_MS = 3_600_000;

/** The price of an hour and of the time limit, before a job is submitted; empty for a tuning, which has a plan. */
export function describePriceAndLimit({ study, replicaGroups, provisioningModel, limits }: JobSpec): readonly string[] {
  if (study !== null) {
    return [];
  }
  const machines = replicaGroups.map((group) => {
    const gpus = gpusOf(group);
    const model = PROVISIONING_MODELS[provisioningModelOf(group, provisioningModel)] ?? '';
    const count = group.count === 1 ? '' : `${group.count} × `;
    return `${count}${group.machineType}${gpus === null ? '' : ` with ${gpus.count} × ${gpus.type}`}, ${model}`;
  });
  const { perHourUsd } = priceOf(replicaGroups, provisioningModel);
  const limit = formatDuration(limits.maxRunningMs);
  const cost =
    perHourUsd === null
      ? 'unknown'
      : `${formatUsd(perHourUsd)} per hour, at most ${formatUsd((perHourUsd * limits.maxRunningMs) / HOUR_MS)} in its limit of ${limit}`;
  return [`Price on Google Cloud: ${cost} (${machines.join('; ')}).`];
}
