import { describe, expect, it } from 'vitest';
import { readCatalog, resolveScaleTier } from '#shared/catalog/catalog.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { resolveMachine } from '#shared/catalog/resolve-machine.ts';
import { zonesFor } from '#shared/catalog/zones.ts';

function describeTier(name: string) {
  return resolveScaleTier(name)?.map(({ role, count, machineType }) => `${count} ${role} ${machineType}`);
}

describe('a scale tier', () => {
  it.each([
    ['BASIC', ['1 master n1-standard-4']],
    ['STANDARD_1', ['1 master n1-highcpu-8', '4 worker n1-highcpu-8', '3 ps n1-standard-4']],
    ['PREMIUM_1', ['1 master n1-highcpu-16', '19 worker n1-highcpu-16', '11 ps n1-highmem-8']],
    ['BASIC_GPU', ['1 master n1-standard-8']],
    ['BASIC_TPU', ['1 master n1-standard-4', '1 worker cloud_tpu']],
  ])('%s is %j', (name, groups) => {
    expect(describeTier(name)).toEqual(groups);
  });

  it('has AI Platform’s GPU or TPU', () => {
    expect(resolveScaleTier('BASIC_GPU')?.[0]?.accelerator).toEqual({ type: 'nvidia-tesla-k80', count: 1 });
    expect(resolveScaleTier('BASIC_TPU')?.[1]?.accelerator).toEqual({ type: 'TPU_V2', count: 8 });
  });

  it('is undefined for unknown tiers and CUSTOM', () => {
    expect(['CUSTOM', 'basic', 'PREMIUM_2', ''].map(resolveScaleTier)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('starts with one master, and its machines exist together in one zone', () => {
    const { scaleTiers } = readCatalog();
    expect(scaleTiers).toHaveLength(5);
    for (const { name } of scaleTiers) {
      const groups = resolveScaleTier(name) ?? [];
      expect(groups[0]).toMatchObject({ role: 'master', count: 1 });
      const resolutions = groups.map(({ machineType, accelerator }) => resolveMachine({ machineType, accelerator }));
      const machines = resolutions.flatMap((resolution) =>
        'rejection' in resolution || resolution.isTpu ? [] : [resolution.machine],
      );
      expect(resolutions.filter((resolution) => 'rejection' in resolution)).toEqual([]);
      expect(zonesFor('us-central1', machines)).not.toEqual([]);
    }
  });

  it('has about the price of AI Platform’s price list, 16.55 dollars per hour for PREMIUM_1', () => {
    expect(priceOf(resolveScaleTier('PREMIUM_1') ?? [], 'STANDARD').perHourUsd).toBeCloseTo(16.55, 1);
    expect(priceOf(resolveScaleTier('STANDARD_1') ?? [], 'STANDARD').perHourUsd).toBeCloseTo(1.988, 2);
  });
});
