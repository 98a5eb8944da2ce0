import { countGpus, findMachineType, gpusOf, type Machine, readCatalog } from '#shared/catalog/catalog.ts';
import type { QuotaLimit } from '#shared/domain/event.ts';
import { type JobSpec, provisioningModelOf, type ReplicaGroup } from '#shared/domain/job-spec.ts';

/** VMs of one kind, with what quotas count of them. */
export type CountedVms = Pick<ReplicaGroup, 'count' | 'machineType' | 'accelerator' | 'bootDiskGib' | 'bootDiskType'>;

/** The amount of a quota that these VMs use. */
type Count = (groups: readonly CountedVms[]) => number;

/** Boot disks that count as SSD storage (Compute Engine, "Disk quotas"). */
const SSD_TYPES: readonly string[] = ['pd-ssd', 'pd-balanced'];

/** Families without a quota of their own for vCPUs, which share the quota CPUS (Compute Engine, "CPU quota"). */
const SHARED_CPU_FAMILIES: readonly string[] = ['N1', 'E2'];

/** How much is counted of each metric that the message of a quota error names. */
const METRICS: readonly { readonly metric: RegExp; readonly count: (name: string, family: string | null) => Count }[] =
  [
    { metric: /^GPUS_ALL_REGIONS$/, count: () => (groups) => sum(groups, countGpus) },
    { metric: /^GPUS_PER_GPU_FAMILY$/, count: (_, family) => countGpusOfType(family) },
    { metric: /^(?:PREEMPTIBLE_|COMMITTED_)?NVIDIA_(\w+)_GPUS$/, count: (type) => countGpusOfType(type) },
    { metric: /^CPUS_ALL_REGIONS$/, count: () => (groups) => sum(groups, vcpusOf) },
    { metric: /^CPUS_PER_VM_FAMILY$/, count: (_, family) => countVcpus(family === null ? [] : [family]) },
    { metric: /^(?:PREEMPTIBLE_)?CPUS$/, count: () => countVcpus(SHARED_CPU_FAMILIES) },
    { metric: /^(?:PREEMPTIBLE_|COMMITTED_)?([A-Z]\d+[A-Z]?)_CPUS$/, count: (family) => countVcpus([family]) },
    { metric: /^INSTANCES$/, count: () => (groups) => sum(groups, () => 1) },
    { metric: /^SSD_TOTAL_GB$/, count: () => countDisks((type) => SSD_TYPES.includes(type)) },
    { metric: /^DISKS_TOTAL_GB$/, count: () => countDisks((type) => type === 'pd-standard') },
  ];

/** Whether it is known what the metric counts. */
export function isQuotaMetric(metric: string): boolean {
  return METRICS.some(({ metric: pattern }) => pattern.test(metric));
}

/**
 * How much of a quota the VMs use together, in the metric's unit; null if that is not known. A quota that one of them
 * exceeded and of which they use nothing by these rules counts something else, so that is null too.
 */
export function quotaDemandOf(
  groups: readonly CountedVms[],
  { metric, family }: Pick<QuotaLimit, 'metric' | 'family'>,
): number | null {
  const name = metric.replace(/^compute\.googleapis\.com\//, '').toUpperCase();
  for (const { metric: pattern, count } of METRICS) {
    const [matched, part = ''] = pattern.exec(name) ?? [];
    if (matched !== undefined) {
      return count(part, family === null ? null : toFamilyName(family))(groups) || null;
    }
  }
  return null;
}

/**
 * The groups of a job that a quota counts: the preemptible quotas count no on-demand VMs. Spot VMs use the standard
 * quotas only in a project without preemptible ones (Compute Engine docs, "Create and use Spot VMs").
 */
export function groupsCountedBy(
  metric: string,
  { replicaGroups, provisioningModel }: Pick<JobSpec, 'replicaGroups' | 'provisioningModel'>,
  { isSpotInStandard }: { readonly isSpotInStandard: boolean },
): readonly ReplicaGroup[] {
  const isPreemptible = metric.startsWith('PREEMPTIBLE_');
  return replicaGroups.filter((group) =>
    provisioningModelOf(group, provisioningModel) === 'STANDARD' ? !isPreemptible : isPreemptible || isSpotInStandard,
  );
}

/** GPUs of a type as metrics name it (`T4`, `A100_80GB`, `H100`); of all types if null. */
function countGpusOfType(type: string | null): Count {
  const isExact = readCatalog().accelerators.some(({ name }) => toGpuName(name) === type);
  const isOfType = (name: string) => type === null || name === type || (!isExact && name.startsWith(`${type}_`));
  return (groups) => sum(groups, (machine) => (isOfType(gpuNameOf(machine)) ? countGpus(machine) : 0));
}

function countVcpus(families: readonly string[]): Count {
  return (groups) => sum(groups, (machine) => (families.includes(familyNameOf(machine)) ? vcpusOf(machine) : 0));
}

function countDisks(isCounted: (type: string) => boolean): Count {
  return (groups) => sum(groups, ({ bootDiskGib, bootDiskType }) => (isCounted(bootDiskType) ? bootDiskGib : 0));
}

function sum(groups: readonly CountedVms[], amountOf: (group: CountedVms) => number): number {
  return groups.reduce((total, group) => total + group.count * amountOf(group), 0);
}

const vcpusOf = ({ machineType }: Machine) => findMachineType(machineType)?.vcpus ?? 0;

const familyNameOf = ({ machineType }: Machine) => machineType.split('-')[0]?.toUpperCase() ?? '';

function gpuNameOf(machine: Machine): string {
  return toGpuName(gpusOf(machine)?.type ?? '');
}

/** `nvidia-tesla-t4` is `T4` in the names of quotas. */
function toGpuName(type: string): string {
  return toFamilyName(type).replace(/^TESLA_/, '');
}

function toFamilyName(name: string): string {
  return name
    .toUpperCase()
    .replaceAll('-', '_')
    .replace(/^NVIDIA_/, '');
}
