import { describe, expect, it } from 'vitest';
import { findMachineType, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import { resolveMachine } from '#shared/catalog/resolve-machine.ts';

describe('machineForGpus', () => {
  it.each([
    [1, 'NVIDIA_TESLA_T4', 'n1-standard-8'],
    [2, 'nvidia-tesla-t4', 'n1-standard-16'],
    [4, 'nvidia-tesla-t4', 'n1-standard-32'],
    [8, 'nvidia-tesla-v100', 'n1-standard-64'],
    [1, 'nvidia-l4', 'g2-standard-8'],
    [2, 'nvidia-l4', 'g2-standard-24'],
    [1, 'nvidia-tesla-a100', 'a2-highgpu-1g'],
    [16, 'nvidia-tesla-a100', 'a2-megagpu-16g'],
    [1, 'nvidia-a100-80gb', 'a2-ultragpu-1g'],
    [8, 'NVIDIA_H100_80GB', 'a3-highgpu-8g'],
    [8, 'nvidia-h200-141gb', 'a3-ultragpu-8g'],
    [1, 'nvidia-tesla-k80', 'n1-standard-8'],
    [8, 'nvidia-tesla-k80', 'n1-standard-32'],
  ])('%i × %s: %s', (count, type, machineType) => {
    expect(machineForGpus({ type, count })).toBe(machineType);
  });

  it.each([
    [3, 'nvidia-tesla-t4'],
    [0, 'nvidia-tesla-t4'],
    [-1, 'nvidia-l4'],
    [3, 'nvidia-tesla-a100'],
    [3, 'nvidia-tesla-k80'],
    [1, 'nvidia-tesla-t44'],
    [1, 'TPU_V3'],
    [1, ''],
  ])('%i × %s: undefined', (count, type) => {
    expect(machineForGpus({ type, count })).toBeUndefined();
  });

  const { accelerators, machineTypes } = readCatalog();
  const gpus = [
    ...accelerators.flatMap(({ name, attach, replacement }) =>
      [...(attach ?? []).map(({ count }) => count), ...Object.keys(replacement?.counts ?? {}).map(Number)].map(
        (count) => ({ type: name, count }),
      ),
    ),
    ...machineTypes.flatMap(({ gpu, vcpus }) => (gpu === null || vcpus < 8 ? [] : [gpu])),
  ];

  it.each(gpus)('finds for $count × $type a machine with 8 vCPUs or more that can have them', (gpu) => {
    const machineType = machineForGpus(gpu) ?? '';
    expect(findMachineType(machineType)?.vcpus).toBeGreaterThanOrEqual(8);
    const accelerator = { type: toAcceleratorEnum(gpu.type), count: gpu.count };
    expect(resolveMachine({ machineType, accelerator })).toMatchObject({ requested: { machineType, gpus: gpu } });
  });
});
