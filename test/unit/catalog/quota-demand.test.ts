import { expect, it } from 'vitest';
import { type CountedVms, quotaDemandOf } from '#shared/catalog/quota-demand.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const [MASTER] = queuedJob().spec.replicaGroups;
const T4 = { type: 'nvidia-tesla-t4', count: 2 };

function demandOf(groups: readonly CountedVms[], metric: string, family: string | null = null) {
  return quotaDemandOf(groups, { metric, family });
}

/** An N1 machine with two T4, and three machines with an L4 each. */
const MIXED = [
  { ...MASTER, machineType: 'n1-standard-8', accelerator: T4, bootDiskGib: 200 },
  { ...MASTER, role: 'worker', count: 3, machineType: 'g2-standard-4', bootDiskType: 'pd-balanced' },
] as const;

it.each([
  ['GPUS_ALL_REGIONS', 5],
  ['compute.googleapis.com/gpus_all_regions', 5],
  ['NVIDIA_T4_GPUS', 2],
  ['PREEMPTIBLE_NVIDIA_T4_GPUS', 2],
  ['NVIDIA_L4_GPUS', 3],
  ['CPUS_ALL_REGIONS', 20],
  ['CPUS', 8],
  ['INSTANCES', 4],
  ['SSD_TOTAL_GB', 500],
])('counts all VMs of the job: %s', (metric, demand) => {
  expect(demandOf(MIXED, metric)).toBe(demand);
});

it.each([
  ['a2-highgpu-2g', 'NVIDIA_A100_GPUS', null, 2],
  ['a2-ultragpu-2g', 'NVIDIA_A100_80GB_GPUS', null, 2],
  ['a3-highgpu-8g', 'NVIDIA_H100_GPUS', null, 8],
  ['a3-highgpu-8g', 'GPUS_PER_GPU_FAMILY', 'NVIDIA_H100', 8],
  ['a3-highgpu-8g', 'GPUS_PER_GPU_FAMILY', null, 8],
  ['a2-highgpu-1g', 'A2_CPUS', null, 12],
  ['n2-standard-8', 'N2_CPUS', null, 8],
  ['c3-standard-8', 'CPUS_PER_VM_FAMILY', 'C3', 8],
])('counts what a %s uses of %s (family %s)', (...row) => {
  const [machineType, metric, family, demand] = row;
  expect(demandOf([{ ...MASTER, machineType }], metric, family)).toBe(demand);
});

it.each([
  ['n1-standard-4', 'IN_USE_ADDRESSES'],
  ['n1-standard-4', 'SOMETHING_NEW'],
  ['a2-ultragpu-2g', 'NVIDIA_A100_GPUS'],
  ['n2-standard-8', 'CPUS'],
  ['c3-standard-8', 'CPUS_PER_VM_FAMILY'],
])('is not known for a %s and the quota %s', (machineType, metric) => {
  expect(demandOf([{ ...MASTER, machineType }], metric)).toBeNull();
});
