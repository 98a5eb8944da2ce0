import type { JobView } from '#shared/protocol/job-view.ts';
import { formatBytes, formatPercent } from '#shared/text/format-number.ts';
import { formatMetrics } from '#shared/views/describe/job-facts.ts';

type ReplicaView = JobView['replicas'][number];

/** Formats steps and metrics: `step 12 of 30, loss 0.1203, accuracy 0.9611`. */
export function describeProgress({
  step,
  stepsMax,
  metrics,
}: Pick<ReplicaView, 'step' | 'stepsMax' | 'metrics'>): string {
  const steps = step === null ? '' : `step ${step}${stepsMax === null ? '' : ` of ${stepsMax}`}`;
  return [steps, formatMetrics(metrics)].filter(Boolean).join(', ');
}

/** Formats the measurements of a VM: `CPU 97 %, memory 64 MiB`. */
export function describeUsage({ cpuFraction, memoryBytes, diskBytes, gpus }: ReplicaView): string {
  const parts = [
    cpuFraction === null ? '' : `CPU ${formatPercent(cpuFraction)}`,
    memoryBytes === null ? '' : `memory ${formatBytes(memoryBytes)}`,
    diskBytes === null ? '' : `disk ${formatBytes(diskBytes)}`,
    ...gpus.map(
      ({ name, busyFraction, memoryBytes: bytes }) => `${name} ${formatPercent(busyFraction)}, ${formatBytes(bytes)}`,
    ),
  ];
  return parts.filter(Boolean).join(', ');
}
