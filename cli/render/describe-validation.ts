import type { Output } from '#cli/core/command.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint } from '#cli/render/paint.ts';
import { findMachineType, type Gpus } from '#shared/catalog/catalog.ts';
import type { JobFilePrice, JobFileValidation } from '#shared/job-file/validate-job-file.ts';
import type { JobPlan } from '#shared/job-file/validation/check-job.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** The verdict on one file as other programs read it: one object, which says as little as null where it knows nothing. */
export function toJson(file: string, validation: JobFileValidation): object {
  const { dialect, verdict, isRunnable, errors, warnings, cluster, trials, price } = validation;
  return {
    file,
    dialect,
    verdict,
    isRunnable,
    errors,
    warnings,
    cluster,
    trials,
    price: price && { onDemandPerHour: price.onDemandPerHour, spotPerHour: price.spotPerHour, asOf: price.asOf },
  };
}

/** The verdict for people: what is wrong with remedies, and what would run at what price. */
export function describeValidation(file: string, validation: JobFileValidation, output: Output): string {
  const { verdict, dialect, errors, warnings, plan, isRunnable } = validation;
  const form = dialect === null ? '' : `  (${FORMS[dialect]})`;
  return [
    `${file}: ${paint(verdict, verdict === 'valid' ? 'green' : 'red', output)}${form}${verdict === 'valid' && !isRunnable ? ', but nothing that this version can run' : ''}`,
    ...errors.map((problem) => describeFinding(problem, paint('error', 'red', output))),
    ...warnings.map((problem) => describeFinding(problem, paint('warning', 'yellow', output))),
    ...(plan === null ? [] : describePlan({ ...validation, plan })),
  ].join('\n');
}

const FORMS = { 'ai-platform': 'AI Platform', 'vertex-ai': 'Vertex AI', dropforge: "Dropforge's own form" } as const;

/** The line comes first, as compilers have it. */
function describeFinding({ code, message, remedy, path, line }: Problem, severity: string): string {
  const place = [line === undefined ? undefined : `line ${line}`, path].filter((part) => part !== undefined).join(', ');
  return `  ${severity} ${code}${place === '' ? '' : ` (${place})`}: ${message}\n      → ${remedy}`;
}

type Plan = Pick<JobFileValidation, 'price' | 'trials'> & { readonly plan: JobPlan };

const MODELS = { STANDARD: 'on demand', SPOT: 'Spot', FLEX_START: 'Flex-start' } as const;

/** What would run, machine by machine, and what an hour of it costs: lines that are indented as parts of a report. */
export function describePlan({ plan, price, trials }: Plan): readonly string[] {
  const rows = plan.groups.map(({ role, count, machineType, accelerator }) => [
    role,
    String(count),
    machineType,
    describeGpus(accelerator ?? findMachineType(machineType)?.gpu ?? null),
    MODELS[plan.provisioningModel],
  ]);
  const table = formatTable(['ROLE', 'COUNT', 'MACHINE', 'GPUS EACH', 'VMS'], rows).split('\n');
  const tuning = trials === null ? [] : [`trials   ${trials.max ?? '?'}, ${trials.parallel ?? '?'} at a time`];
  return [...table, ...tuning, ...describePrice(price)].map((line) => `  ${line}`);
}

function describeGpus(gpus: Gpus | null): string {
  return gpus === null ? '-' : `${gpus.count} × ${gpus.type}`;
}

/** On demand and Spot, against the same machines at Vertex AI. */
function describePrice(price: JobFilePrice | null): readonly string[] {
  if (price === null || price.onDemandPerHour === null) {
    return ['price    not known'];
  }
  const { onDemandPerHour: onDemand, spotPerHour: spot, vertexPerHour: vertex, asOf, region } = price;
  const spotText = spot === null ? '' : `, Spot ${formatUsd(spot)}`;
  const dear =
    vertex === null ? [] : [`         Vertex AI ${formatUsd(vertex)}: ${describeSaving(vertex, onDemand, spot)}`];
  return [`price    on demand ${formatUsd(onDemand)} an hour${spotText} (list prices in ${region}, ${asOf})`, ...dear];
}

function describeSaving(vertex: number, onDemand: number, spot: number | null): string {
  const percentOf = (cheap: number) => `${Math.round((1 - cheap / vertex) * 100)} %`;
  return `${percentOf(onDemand)} saved on demand${spot === null ? '' : `, ${percentOf(spot)} on Spot`}`;
}

function formatUsd(usd: number): string {
  return `$${usd.toFixed(2)}`;
}
