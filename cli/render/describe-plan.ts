import { formatTable } from '#cli/render/format-table.ts';
import { findMachineType, type Gpus } from '#shared/catalog/catalog.ts';
import type { JobPlan } from '#shared/job-file/validation/check-job.ts';
import type { JobFilePrice, JobFileValidation } from '#shared/job-file/validation/validate-job-file.ts';

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
