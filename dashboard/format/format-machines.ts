import type { JobView } from '#shared/protocol/report.ts';

/** The machines of a job in a few characters, such as `2 × n1-standard-8` and `2 × T4`. */
export type MachineSummary = { readonly machines: string; readonly gpus: string | null };

export function summarizeMachines(groups: JobView['machines']): MachineSummary {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const types = [...new Set(groups.map(({ machineType }) => machineType))];
  const machines = `${total > 1 ? `${total} × ` : ''}${types[0] ?? '–'}${types.length > 1 ? ` +${types.length - 1}` : ''}`;
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
