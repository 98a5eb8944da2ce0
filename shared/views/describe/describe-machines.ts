import type { JobView } from '#shared/protocol/job-view.ts';

type Group = JobView['machines'][number];

export const PROVISIONING_MODELS: Readonly<Record<string, string>> = {
  STANDARD: 'on demand',
  SPOT: 'Spot',
  FLEX_START: 'Flex-start',
};

/** A group of machines with its role: `3 worker on a2-highgpu-1g with 1 x NVIDIA_TESLA_A100 (Spot)`. */
export function describeGroup({ role, count, machineType, accelerator, provisioningModel: own }: Group): string {
  const model = own === undefined ? '' : ` (${PROVISIONING_MODELS[own] ?? own})`;
  return `${count} ${role} on ${machineType}${accelerator === null ? '' : ` with ${accelerator}`}${model}`;
}

/** The provisioning models of a job's machines, each once; none if that of its placement is not known. */
export function listModels(groups: readonly Group[], model: string | null | undefined): readonly string[] {
  return model ? [...new Set(groups.map(({ provisioningModel }) => provisioningModel ?? model))] : [];
}

/** The machines of a job in a few characters, such as `4 × a2-highgpu-1g + n1-standard-4` and `4 × A100`. */
export function summarizeMachines(groups: readonly Group[]): {
  readonly machines: string;
  readonly gpus: string | null;
} {
  const machines = countBy(groups.map(({ machineType, count }) => [machineType, count]));
  const gpus = countBy(
    groups.flatMap(({ accelerator, count }) => {
      const [, perVm, type] = /^(\d+) x (.+)$/.exec(accelerator ?? '') ?? [];
      return type === undefined ? [] : [[nameGpu(type), count * Number(perVm)] as const];
    }),
  );
  const machineTexts = [...machines].map(([type, count]) => (count > 1 ? `${count} × ${type}` : type));
  const gpuTexts = [...gpus].map(([type, count]) => `${count} × ${type}`);
  return { machines: machineTexts.join(' + ') || '–', gpus: gpuTexts.join(', ') || null };
}

function countBy(counts: readonly (readonly [type: string, count: number])[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [type, count] of counts) {
    sums.set(type, (sums.get(type) ?? 0) + count);
  }
  return sums;
}

/** `NVIDIA_TESLA_T4` and `nvidia-tesla-t4` are both `T4`. */
function nameGpu(type: string): string {
  return type
    .replace(/^nvidia[-_](tesla[-_])?/i, '')
    .replaceAll('_', '-')
    .toUpperCase();
}
