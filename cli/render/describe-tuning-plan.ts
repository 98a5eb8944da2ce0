import { priceOf } from '#shared/catalog/price.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { objectiveMetricsOf, type Parameter, type Study } from '#shared/domain/study.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

type PlanOptions = {
  /** Whether the job file limits the running time of a trial; otherwise it has a default of days. */
  readonly hasTimeLimit: boolean;
};

const HOUR_MS = 3_600_000;

/** Trials of this length are an example of the cost if their running time is not known. */
const EXAMPLE_MS = 10 * 60_000;

const SHOWN_STARTS_MAX = 5;

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
    ...[
      ...study.parameters.flatMap(describeParameter),
      ...describeStart(study.start),
      ...describeCost(spec, study, options),
    ].map((line) => `  ${line}`),
  ];
}

/** Formats the values of the first trials that the job file gives. */
export function describeStart(start: Study['start'] = []): readonly string[] {
  const describe = (values: object) =>
    Object.entries(values)
      .map(([id, value]) => `${id}=${value}`)
      .join(' ');
  const shown = start.slice(0, SHOWN_STARTS_MAX).map(describe).join('; ');
  const more = start.length > SHOWN_STARTS_MAX ? `; and ${start.length - SHOWN_STARTS_MAX} more` : '';
  return start.length === 0 ? [] : [`Tries first: ${shown}${more}`];
}

/** Formats what is tried of a parameter, with the type that the job file does not have to name, and of those below it. */
export function describeParameter({ id, space, scale, children }: Parameter): readonly string[] {
  const values = 'values' in space ? space.values.join(', ') : `from ${space.min} to ${space.max}`;
  const scaled = scale === 'LOG' || scale === 'REVERSE_LOG' ? `, ${scale.toLowerCase().replace('_', ' ')} scale` : '';
  const below = children.flatMap(({ parentValues, parameter }) =>
    describeParameter(parameter).map((line) => `  ${line}, if ${id} is ${parentValues.join(' or ')}`),
  );
  return [`${id}: ${space.kind.toLowerCase()} ${values}${scaled}`, ...below];
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
