import type { JobView } from '#shared/protocol/job-view.ts';

/** The machines of a job in a few characters, such as `4 × a2-highgpu-1g + n1-standard-4` and `4 × A100`. */
export type MachineSummary = { readonly machines: string; readonly gpus: string | null };

export function summarizeMachines(groups: JobView['machines']): MachineSummary {
  const counts = new Map<string, number>();
  for (const { machineType, count } of groups) {
    counts.set(machineType, (counts.get(machineType) ?? 0) + count);
  }
  const machines = [...counts].map(([type, count]) => (count > 1 ? `${count} × ${type}` : type)).join(' + ') || '–';
  const gpuCounts = new Map<string, number>();
  for (const { accelerator, count } of groups) {
    const [, perVm = '0', type = ''] = /^(\d+) x (.+)$/.exec(accelerator ?? '') ?? [];
    if (type !== '') {
      gpuCounts.set(type, (gpuCounts.get(type) ?? 0) + count * Number(perVm));
    }
  }
  const gpus = [...gpuCounts].map(([type, count]) => `${count} × ${nameGpu(type)}`).join(', ');
  return { machines, gpus: gpus === '' ? null : gpus };
}

/** `NVIDIA_TESLA_T4` and `nvidia-tesla-t4` are both `T4`. */
function nameGpu(type: string): string {
  return type
    .replace(/^nvidia[-_](tesla[-_])?/i, '')
    .replaceAll('_', '-')
    .toUpperCase();
}
