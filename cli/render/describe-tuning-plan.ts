import { formatDuration } from '#cli/render/format.ts';
import { priceOf } from '#shared/catalog/price.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { objectiveMetricsOf, type Study } from '#shared/domain/study.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

type PlanOptions = {
  /** Whether the job file limits the running time of a trial; otherwise it has a default of days. */
  readonly hasTimeLimit: boolean;
};

const HOUR_MS = 3_600_000;

/** Trials of this length are an example of the cost if their running time is not known. */
const EXAMPLE_MS = 10 * 60_000;

/** Formats what a tuning will run and what it can cost, before it is submitted. Empty for other jobs. */
export function describeTuningPlan(spec: JobSpec, options: PlanOptions): readonly string[] {
  const { study } = spec;
  if (study === null) {
    return [];
  }
  const count = study.trialsMax === 1 ? '1 trial' : `${study.trialsMax} trials`;
  const goals = objectiveMetricsOf(study).map(({ goal, id }) => `${goal.toLowerCase()} ${id}`);
  return [
    `Tuning ${spec.jobId}: ${count}, ${study.parallelTrialsMax} at a time, to ${goals.join(' and ')}.`,
    ...describeCost(spec, study, options).map((line) => `  ${line}`),
  ];
}

function describeCost(
  { replicaGroups, provisioningModel, limits }: JobSpec,
  study: Study,
  { hasTimeLimit }: PlanOptions,
): readonly string[] {
  const { perHourUsd } = priceOf(replicaGroups, provisioningModel);
  if (perHourUsd === null) {
    return ['The price of the machines is not known.'];
  }
  const costOf = (trialMs: number) => (study.trialsMax * trialMs * perHourUsd) / HOUR_MS;
  const hourly = `${formatUsd(perHourUsd)} per hour and trial (list price)`;
  const limit = study.maxCostUsd === null ? [] : [`It ends when it has cost ${formatUsd(study.maxCostUsd)}.`];
  if (hasTimeLimit) {
    const most = formatUsd(costOf(limits.maxRunningMs));
    return [`At most ${most}: ${hourly}, and at most ${formatDuration(limits.maxRunningMs)} per trial.`, ...limit];
  }
  return [
    `${hourly}: ${formatUsd(costOf(EXAMPLE_MS))} if each trial takes ${formatDuration(EXAMPLE_MS)}.`,
    ...(limit.length > 0
      ? limit
      : ['How long a trial takes is not known: to bound it, limit the running time of the job, or pass --max-cost.']),
  ];
}
