import type { Output } from '#cli/core/command.ts';
import { describeParameter, describeStart } from '#cli/render/describe-tuning-plan.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint } from '#cli/render/paint.ts';
import { type Gpus, gpusOf } from '#shared/catalog/catalog.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { type JobSpec, provisioningModelOf } from '#shared/domain/job-spec.ts';
import type { JobFilePrice, JobFileValidation } from '#shared/job-file/validate-job-file.ts';
import type { JobPlan } from '#shared/job-file/validation/check-job.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { formatPercent } from '#shared/text/format-number.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { PROVISIONING_MODELS } from '#shared/views/describe/describe-machines.ts';

/** With `--package`, what is sound but could be better. */
export type Validation = JobFileValidation & { readonly hints?: readonly Problem[] };

/** Converts the validation of one file to its JSON output. Unknown values are null. */
export function toJson(file: string, validation: Validation): object {
  const { dialect, verdict, isRunnable, errors, warnings, cluster, trials, price, plan, images, parameters, start } =
    validation;
  return {
    file,
    dialect,
    verdict,
    isRunnable,
    errors,
    warnings,
    ...(validation.hints === undefined ? {} : { hints: validation.hints }),
    cluster,
    runs: plan && describeRun(plan),
    images,
    trials,
    parameters,
    ...(start && { start }),
    price: price && {
      perHour: price.perHour,
      onDemandPerHour: price.onDemandPerHour,
      spotPerHour: price.spotPerHour,
      asOf: price.asOf,
    },
  };
}

/** The machines that are created, in which retired GPUs and legacy machine types are replaced. */
function describeRun({ groups, provisioningModel }: JobPlan): readonly object[] {
  return groups.map(({ role, count, ...machine }) => ({
    ...{ role, count, machineType: machine.machineType },
    provisioningModel: provisioningModelOf(machine, provisioningModel),
    gpus: gpusOf(machine),
  }));
}

/** Formats the validation of one file: errors and warnings with remedies, the machines and their price. */
export function describeValidation(file: string, validation: Validation, output: Output): string {
  const { verdict, dialect, errors, warnings, plan, images, isRunnable } = validation;
  const format = dialect === null ? '' : `  (${FORMATS[dialect]})`;
  return [
    `${file}: ${paint(verdict, verdict === 'valid' ? 'green' : 'red', output)}${format}${verdict === 'valid' && !isRunnable ? ', but not supported by this version' : ''}`,
    ...errors.map((problem) => describeFinding(problem, paint('error', 'red', output))),
    ...warnings.map((problem) => describeFinding(problem, paint('warning', 'yellow', output))),
    ...(validation.hints ?? []).map((problem) => describeFinding(problem, paint('hint', 'cyan', output))),
    ...(plan === null ? [] : describePlan({ ...validation, plan })),
    ...(verdict === 'valid' ? describeUnchecked(images) : []),
  ].join('\n');
}

const HOUR_MS = 3_600_000;

const FORMATS = { 'ai-platform': 'AI Platform', 'vertex-ai': 'Vertex AI', dropforge: 'Dropforge' } as const;

/** Formats a finding with its line first, as compilers do. */
function describeFinding({ code, message, remedy, path, line }: Problem, severity: string): string {
  const location = [line === undefined ? undefined : `line ${line}`, path]
    .filter((part) => part !== undefined)
    .join(', ');
  return `  ${severity} ${code}${location === '' ? '' : ` (${location})`}: ${message}\n      → ${remedy}`;
}

/** Validation is offline: it says which images it did not look up. */
export function describeUnchecked(images: readonly string[]): readonly string[] {
  return images.map((image) => `  image    ${image}: not looked up; a submission finds it and pins its digest`);
}

type Plan = Pick<JobFileValidation, 'price' | 'trials' | 'parameters' | 'start'> & { readonly plan: JobPlan };

/** Formats the machines of a job and their price per hour as indented lines. */
export function describePlan({ plan, price, trials, parameters, start }: Plan): readonly string[] {
  const rows = plan.groups.map(({ role, count, ...machine }) => [
    role,
    String(count),
    machine.machineType,
    describeGpus(gpusOf(machine)),
    PROVISIONING_MODELS[provisioningModelOf(machine, plan.provisioningModel)] ?? '',
  ]);
  const table = formatTable(['ROLE', 'COUNT', 'MACHINE', 'GPUS PER VM', 'PROVISIONING'], rows).split('\n');
  const searched = [...parameters.flatMap(describeParameter), ...describeStart(start)].map(
    (line) => `         ${line}`,
  );
  const tuning =
    trials === null ? [] : [`trials   ${trials.max ?? '?'}, ${trials.parallel ?? '?'} at a time`, ...searched];
  const limit = trials === null ? describeLimit(price) : [];
  const isMixed = plan.groups.some(({ provisioningModel }) => provisioningModel !== null);
  return [...table, ...tuning, ...describePrice(price, isMixed), ...limit].map((line) => `  ${line}`);
}

function describeGpus(gpus: Gpus | null): string {
  return gpus === null ? '-' : `${gpus.count} × ${gpus.type}`;
}

/** Compares on-demand and Spot prices with those of the same machines on Vertex AI; first the price of a mix of both. */
function describePrice(price: JobFilePrice | null, isMixed: boolean): readonly string[] {
  if (price === null || price.onDemandPerHour === null) {
    return ['price    unknown'];
  }
  const { perHour, onDemandPerHour: onDemand, spotPerHour: spot, vertexPerHour: vertex, asOf, region } = price;
  const mixedText = isMixed ? `${formatUsd(perHour)} per hour as requested, ` : '';
  const spotText = spot === null ? '' : `, Spot ${formatUsd(spot)}`;
  const comparison =
    vertex === null ? [] : [`         Vertex AI ${formatUsd(vertex)}: ${describeSaving(vertex, onDemand, spot)}`];
  return [
    `price    ${mixedText}on demand ${formatUsd(onDemand)} per hour${spotText} (list prices in ${region}, ${asOf})`,
    ...comparison,
  ];
}

function describeLimit(price: JobFilePrice | null): readonly string[] {
  const { perHour = null, maxRunningMs = 0 } = price ?? {};
  return perHour === null ? [] : [`         ${describeMost(perHour, maxRunningMs)}`];
}

function describeMost(perHour: number, maxRunningMs: number): string {
  return `at most ${formatUsd((perHour * maxRunningMs) / HOUR_MS)} in its limit of ${formatDuration(maxRunningMs)}`;
}

/** The price of an hour and of the time limit, before a job is submitted; empty for a tuning, which has a plan. */
export function describePriceAndLimit({ study, replicaGroups, provisioningModel, limits }: JobSpec): readonly string[] {
  const machines = replicaGroups.map((group) => {
    const gpus = gpusOf(group);
    const model = PROVISIONING_MODELS[provisioningModelOf(group, provisioningModel)] ?? '';
    const count = group.count === 1 ? '' : `${group.count} × `;
    return `${count}${group.machineType}${gpus === null ? '' : ` with ${describeGpus(gpus)}`}, ${model}`;
  });
  const { perHourUsd: perHour } = priceOf(replicaGroups, provisioningModel);
  const cost =
    perHour === null ? 'unknown' : `${formatUsd(perHour)} per hour, ${describeMost(perHour, limits.maxRunningMs)}`;
  return study === null ? [`Price on Google Cloud: ${cost} (${machines.join('; ')}).`] : [];
}

function describeSaving(vertex: number, onDemand: number, spot: number | null): string {
  const percentOf = (price: number) => formatPercent(1 - price / vertex);
  return `${percentOf(onDemand)} cheaper on demand${spot === null ? '' : `, ${percentOf(spot)} on Spot`}`;
}
