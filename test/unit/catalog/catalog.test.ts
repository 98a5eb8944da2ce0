import { describe, expect, it } from 'vitest';
import { findAccelerator, findMachineType, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import { resolveMachine } from '#shared/catalog/resolve-machine.ts';
import { listRegions, regionsFor, zonesFor } from '#shared/catalog/zones.ts';

function machineOf(choice: Parameters<typeof resolveMachine>[0]) {
  const resolution = resolveMachine(choice);
  if ('refusal' in resolution) {
    throw new Error(`refused: ${resolution.refusal.reason}`);
  }
  return resolution;
}

const t4 = (count: number) => ({ type: 'nvidia-tesla-t4', count });

describe('the catalog’s data', () => {
  const { accelerators, availability, legacyMachineTypes, machineTypes, regions, scaleTiers } = readCatalog();

  it('names machine types, accelerators and shorthands once', () => {
    const names = [machineTypes, accelerators, [...legacyMachineTypes, ...scaleTiers]].map((list) =>
      list.map(({ name }) => name),
    );
    for (const list of names) {
      expect(new Set(list).size).toBe(list.length);
    }
  });

  it('refers only to what is in it', () => {
    const zones = new Set(Object.values(regions).flat());
    const used = [...Object.values(availability).flat(), ...accelerators.flatMap((accelerator) => accelerator.zones)];
    expect(used.filter((zone) => !zones.has(zone))).toEqual([]);
    expect(machineTypes.filter((type) => availability[type.availability] === undefined)).toEqual([]);
    expect(machineTypes.filter(({ gpu }) => gpu !== null && findAccelerator(gpu.type) === undefined)).toEqual([]);
    expect(
      accelerators.filter(({ replacement }) => replacement !== null && findAccelerator(replacement.type) === undefined),
    ).toEqual([]);
  });

  it('can make a machine of every shorthand of AI Platform, and knows a zone for each', () => {
    const choices = [
      ...scaleTiers.map(({ name }) => ({ scaleTier: name })),
      ...legacyMachineTypes.map(({ name }) => ({ machineType: name, accelerator: null })),
    ];
    expect(choices.filter((choice) => zonesFor('us-central1', [machineOf(choice).machine]).length === 0)).toEqual([]);
  });

  it('has zones of a region only under that region', () => {
    expect(
      Object.entries(regions).filter(([region, zones]) => zones.some((zone) => zone.replace(/-[a-z]$/, '') !== region)),
    ).toEqual([]);
    expect(listRegions()).toContain('us-central1');
  });
});

describe('resolving a machine', () => {
  it.each([
    [{ scaleTier: 'BASIC' }, 'n1-standard-4', null],
    [{ scaleTier: 'BASIC_GPU' }, 'n1-standard-8', t4(1)],
    [{ machineType: 'large_model', accelerator: null }, 'n1-highmem-8', null],
    [{ machineType: 'complex_model_m_gpu', accelerator: null }, 'n1-standard-16', t4(4)],
    [{ machineType: 'complex_model_l_gpu', accelerator: null }, 'n1-standard-32', t4(4)],
    [
      { machineType: 'complex_model_m_v100', accelerator: null },
      'n1-standard-16',
      { type: 'nvidia-tesla-v100', count: 4 },
    ],
    [{ machineType: 'n1-standard-8', accelerator: { type: 'NVIDIA_TESLA_K80', count: 2 } }, 'n1-standard-8', t4(2)],
    [{ machineType: 'a2-highgpu-1g', accelerator: { type: 'NVIDIA_TESLA_A100', count: 1 } }, 'a2-highgpu-1g', null],
  ])('%j is %s with %j', (choice, machineType, accelerator) => {
    expect(machineOf(choice).machine).toEqual({ machineType, accelerator });
  });

  it('remembers what was asked for when something takes its place', () => {
    const resolved = machineOf({ machineType: 'complex_model_l_gpu', accelerator: null });
    const k80 = { type: 'nvidia-tesla-k80', count: 8 };
    expect(resolved).toMatchObject({
      asked: { machineType: 'n1-standard-32', gpus: k80 },
      replaced: { from: k80, to: t4(4) },
    });
    expect(machineOf({ machineType: 'g2-standard-4', accelerator: null }).asked.gpus).toEqual({
      type: 'nvidia-l4',
      count: 1,
    });
  });

  it('says which counts there are, and how many GPUs a large machine needs', () => {
    expect(resolveMachine({ machineType: 'n1-standard-8', accelerator: t4(3) })).toEqual({
      refusal: { reason: 'WRONG_ACCELERATOR_COUNT', accelerator: 'nvidia-tesla-t4', counts: [1, 2, 4] },
    });
    expect(
      resolveMachine({ machineType: 'n1-standard-8', accelerator: { type: 'nvidia-tesla-k80', count: 3 } }),
    ).toEqual({
      refusal: { reason: 'WRONG_ACCELERATOR_COUNT', accelerator: 'nvidia-tesla-k80', counts: [1, 2, 4, 8] },
    });
    expect(resolveMachine({ machineType: 'n1-standard-96', accelerator: t4(1) })).toEqual({
      refusal: { reason: 'MACHINE_TYPE_TOO_LARGE', vcpusMax: 48, memoryGibMax: 312, countMin: 4 },
    });
  });

  it('knows a GPU by both of its names', () => {
    expect(findAccelerator('NVIDIA_TESLA_T4')).toBe(findAccelerator('nvidia-tesla-t4'));
    expect(toAcceleratorEnum('nvidia-h100-80gb')).toBe('NVIDIA_H100_80GB');
    expect(findMachineType('n1-standard-8')).toMatchObject({ vcpus: 8, memoryGib: 30 });
  });
});

describe('zones', () => {
  const machine = (machineType: string, accelerator: ReturnType<typeof t4> | null = null) => ({
    machineType,
    accelerator,
  });

  it('are those that have all machines of the job', () => {
    const p100 = machine('n1-standard-8', { type: 'nvidia-tesla-p100', count: 1 });
    expect(zonesFor('us-central1', [p100])).toEqual(['us-central1-c', 'us-central1-f']);
    expect(zonesFor('us-central1', [p100, machine('a2-highgpu-1g')])).toEqual(['us-central1-c', 'us-central1-f']);
    expect(zonesFor('us-central1', [p100, machine('g2-standard-4')])).toEqual(['us-central1-c']);
  });

  it('leave out those where four P100 do not allow the machine', () => {
    const four = { type: 'nvidia-tesla-p100', count: 4 };
    expect(zonesFor('europe-west1', [machine('n1-standard-64', four)])).toEqual([]);
    expect(zonesFor('europe-west1', [machine('n1-standard-32', four)])).toEqual(['europe-west1-b', 'europe-west1-d']);
  });

  it('are none for what does not exist there, or at all', () => {
    expect(zonesFor('us-west2', [machine('a2-highgpu-1g')])).toEqual([]);
    expect(zonesFor('nowhere', [machine('n1-standard-4')])).toEqual([]);
    expect(zonesFor('us-central1', [machine('n1-standard-5')])).toEqual([]);
    expect(regionsFor([machine('a2-megagpu-16g')])).toEqual(['asia-southeast1', 'europe-west4', 'us-central1']);
  });
});

describe('prices', () => {
  const four = { machineType: 'n1-standard-4', accelerator: null, count: 4 };

  it('add up machines and the GPUs attached to them', () => {
    expect(priceOf([four], 'STANDARD')).toEqual({ perHourUsd: 0.76, asOf: '2026-11-20', region: 'us-central1' });
    expect(priceOf([{ machineType: 'n1-standard-8', accelerator: t4(2), count: 1 }], 'STANDARD').perHourUsd).toBe(1.08);
    expect(priceOf([{ machineType: 'a2-highgpu-1g', accelerator: null, count: 1 }], 'SPOT').perHourUsd).toBe(1.80385);
  });

  it('are higher on Vertex AI by its premium', () => {
    expect(vertexPriceOf([{ ...four, count: 1 }]).perHourUsd).toBe(0.2185);
    expect(vertexPriceOf([{ machineType: 'a2-highgpu-8g', accelerator: null, count: 1 }]).perHourUsd).toBe(35.264496);
  });

  it('are not known where one of them is not known', () => {
    expect(
      priceOf([four, { machineType: 'e2-standard-4', accelerator: null, count: 1 }], 'STANDARD').perHourUsd,
    ).toBeNull();
    expect(
      priceOf([{ machineType: 'n1-standard-4', accelerator: { type: 'nvidia-tesla-p4', count: 1 }, count: 1 }], 'SPOT')
        .perHourUsd,
    ).toBeNull();
  });
});
