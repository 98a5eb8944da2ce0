import { describe, expect, it } from 'vitest';
import { findAccelerator, findMachineType, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import { isLegacyMachineType, resolveMachine } from '#shared/catalog/resolve-machine.ts';
import { regionsFor } from '#shared/catalog/zones.ts';
import { gpus, machineOf, t4 } from '../../support/catalog/example-machines.ts';

const k80 = (count: number) => gpus('nvidia-tesla-k80', count);

describe('resolveMachine', () => {
  it.each([
    ['large_model', null, 'n1-highmem-8'],
    ['complex_model_m_gpu', null, 'n1-standard-16', t4(4)],
    ['complex_model_l_gpu', null, 'n1-standard-32', t4(4)],
    ['complex_model_m_v100', null, 'n1-standard-16', gpus('nvidia-tesla-v100', 4)],
    ['n1-standard-8', gpus('NVIDIA_TESLA_K80', 2), 'n1-standard-8', t4(2)],
    ['n1-standard-8', t4(2), 'n1-standard-8', t4(2)],
    ['a2-highgpu-1g', gpus('NVIDIA_TESLA_A100', 1), 'a2-highgpu-1g'],
    ['n2d-standard-224', null, 'n2d-standard-224'],
  ] as const)('resolves %s with %j to %s with %j', (machineType, requested, ...[resolvedType, accelerator = null]) => {
    expect(machineOf({ machineType, accelerator: requested })).toMatchObject({
      machine: { machineType: resolvedType, accelerator },
      isTpu: false,
    });
  });

  it('replaces 8 K80 by 4 T4, and keeps the requested GPUs', () => {
    expect(machineOf({ machineType: 'complex_model_l_gpu', accelerator: null })).toMatchObject({
      requested: { machineType: 'n1-standard-32', gpus: k80(8) },
      replaced: { from: k80(8), to: t4(4) },
    });
    expect(machineOf({ machineType: 'g2-standard-4', accelerator: null })).toMatchObject({
      requested: { gpus: gpus('nvidia-l4', 1) },
      replaced: null,
    });
  });

  it.each([
    ['n1-standard-8', t4(3), { reason: 'WRONG_ACCELERATOR_COUNT', accelerator: 'nvidia-tesla-t4', counts: [1, 2, 4] }],
    [
      'n1-standard-8',
      k80(3),
      { reason: 'WRONG_ACCELERATOR_COUNT', accelerator: 'nvidia-tesla-k80', counts: [1, 2, 4, 8] },
    ],
    ['n1-standard-96', t4(1), { reason: 'MACHINE_TYPE_TOO_LARGE', vcpusMax: 48, memoryGibMax: 312, countMin: 4 }],
    ['n2-standard-8', t4(1), { reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' }],
    ['n1-standard-5', null, { reason: 'UNKNOWN_MACHINE_TYPE', name: 'n1-standard-5' }],
    ['n1-standard-8', gpus('NVIDIA_T4', 1), { reason: 'UNKNOWN_ACCELERATOR', name: 'NVIDIA_T4' }],
    ['g2-standard-8', gpus('nvidia-l4', 2), { reason: 'ACCELERATOR_BUILT_IN', builtIn: gpus('nvidia-l4', 1) }],
    [
      'standard_gpu',
      t4(1),
      { reason: 'ACCELERATOR_ON_LEGACY_TYPE', means: { machineType: 'n1-standard-8', accelerator: k80(1) } },
    ],
  ])('rejects %s with %j: %j', (machineType, accelerator, rejection) => {
    expect(resolveMachine({ machineType, accelerator })).toEqual({ rejection });
  });

  it('accepts both names of a GPU', () => {
    expect(findAccelerator('NVIDIA_TESLA_T4')).toBe(findAccelerator('nvidia-tesla-t4'));
    expect(toAcceleratorEnum('nvidia-h100-80gb')).toBe('NVIDIA_H100_80GB');
    expect(findMachineType('n1-standard-8')).toMatchObject({ vcpus: 8, memoryGib: 30 });
  });

  it('distinguishes AI Platform’s names from Compute Engine’s; cloud_tpu is neither', () => {
    const names = ['standard', 'complex_model_l_v100', 'n1-standard-4', 'cloud_tpu', 'cloud-tpu', ''];
    expect(names.filter(isLegacyMachineType)).toEqual(['standard', 'complex_model_l_v100']);
  });
});

describe('a TPU machine', () => {
  it.each([
    ['cloud_tpu', null, gpus('TPU_V2', 8)],
    ['cloud_tpu', gpus('TPU_V3', 8), gpus('TPU_V3', 8)],
    ['cloud_tpu', gpus('tpu-v3-pod', 32), gpus('TPU_V3_POD', 32)],
    ['cloud-tpu', null, null],
    ['cloud-tpu', gpus('TPU_V2', 32), gpus('TPU_V2', 32)],
    ['ct5lp-hightpu-4t', null, null],
    ['ct6e-standard-8t', gpus('TPU_V5_LITEPOD', 8), gpus('TPU_V5_LITEPOD', 8)],
    ['tpu7x-standard-4t', null, null],
  ])('%s with %j keeps its name, and has %j', (machineType, accelerator, has) => {
    expect(resolveMachine({ machineType, accelerator })).toEqual({
      machine: { machineType, accelerator: has },
      requested: { machineType, gpus: has },
      replaced: null,
      isTpu: true,
    });
  });

  it('accepts no GPUs, and its TPUs cannot be attached to other machines', () => {
    expect(resolveMachine({ machineType: 'cloud_tpu', accelerator: t4(1) })).toEqual({
      rejection: { reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' },
    });
    expect(resolveMachine({ machineType: 'cloud_tpu', accelerator: gpus('TPU_V9', 1) })).toEqual({
      rejection: { reason: 'UNKNOWN_ACCELERATOR', name: 'TPU_V9' },
    });
    expect(resolveMachine({ machineType: 'n1-standard-8', accelerator: gpus('TPU_V2', 8) })).toMatchObject({
      rejection: { reason: 'ACCELERATOR_NOT_ATTACHABLE', accelerator: 'TPU_V2' },
    });
  });

  it('has no zones and no price', () => {
    const machine = machineOf({ machineType: 'cloud_tpu', accelerator: null }).machine;
    expect(regionsFor([machine])).toEqual([]);
    expect(priceOf([{ ...machine, count: 1 }], 'STANDARD').perHourUsd).toBeNull();
    expect(vertexPriceOf([{ ...machine, count: 1 }]).perHourUsd).toBeNull();
  });
});
