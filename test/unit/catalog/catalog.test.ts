import { describe, expect, it } from 'vitest';
import { familyOf, findAccelerator, findMachineType, findTpu, readCatalog } from '#shared/catalog/catalog.ts';
import { priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import { listRegions, regionsFor, zonesFor } from '#shared/catalog/zones.ts';
import { gpus, machineOf, t4 } from '../../support/catalog/example-machines.ts';

describe('the catalog’s data', () => {
  const { accelerators, availability, legacyMachineTypes, machineTypes, regions, scaleTiers, tpuMachineTypes } =
    readCatalog();

  it('has unique names of machine types, accelerators and tiers', () => {
    const lists = [[...machineTypes, ...tpuMachineTypes, ...legacyMachineTypes], accelerators, scaleTiers];
    for (const names of lists.map((list) => list.map(({ name }) => name))) {
      expect(new Set(names).size).toBe(names.length);
    }
  });

  it('has a family for every machine type, preferring its first two name parts', () => {
    for (const { name } of machineTypes) {
      expect(() => familyOf(name), name).not.toThrow();
    }
    expect(familyOf('a2-ultragpu-1g').skuPrefix).toBeNull();
    expect(familyOf('a2-highgpu-1g').skuPrefix).toBe('A2 Instance');
    expect(() => familyOf('q9-standard-4')).toThrow(/q9-standard-4 belongs to no family/);
  });

  it('has only boot disks that each family can attach: the newest take no Persistent Disk, newer ones no pd-standard', () => {
    const without = (type: string) =>
      Object.entries(readCatalog().families).flatMap(([family, { bootDisks }]) =>
        bootDisks.some((disk) => disk.startsWith(type)) ? [] : [family],
      );
    const hyperdiskOnly = ['a3-ultragpu', 'a4', 'a4x', 'c4', 'c4a', 'c4d', 'g4', 'n4'];
    expect(without('pd-')).toEqual(hyperdiskOnly);
    expect(without('pd-standard')).toEqual([...hyperdiskOnly, 'a3', 'c3', 'c3d', 'g2', 'h3', 'z3'].sort());
    expect(without('pd-ssd')).toEqual([...hyperdiskOnly, 'h3'].sort());
  });

  it('has zones of GPUs and machine types only in known regions', () => {
    const zones = new Set(Object.values(regions).flat());
    const used = [...Object.values(availability).flat(), ...accelerators.flatMap((accelerator) => accelerator.zones)];
    expect(used.length).toBeGreaterThan(1000);
    expect(used.filter((zone) => !zones.has(zone))).toEqual([]);
  });

  it('has sorted lists of zones', () => {
    const lists = [
      ...Object.values(regions),
      ...Object.values(availability),
      ...accelerators.map(({ zones }) => zones),
    ];
    expect(lists.filter((zones) => zones.join() !== zones.toSorted().join())).toEqual([]);
  });

  it('has no dangling references', () => {
    expect(machineTypes.filter((type) => availability[type.availability] === undefined)).toEqual([]);
    expect(machineTypes.filter(({ gpu }) => gpu !== null && findAccelerator(gpu.type) === undefined)).toEqual([]);
    expect(
      accelerators.filter(({ replacement }) => replacement !== null && findAccelerator(replacement.type) === undefined),
    ).toEqual([]);
    const tpus = tpuMachineTypes.flatMap(({ tpuDefault }) => (tpuDefault === null ? [] : [tpuDefault.type]));
    expect(tpus.filter((type) => findTpu(type) === undefined)).toEqual([]);
    expect(Object.keys(availability).filter((key) => !machineTypes.some((type) => type.availability === key))).toEqual(
      [],
    );
  });

  it('maps each legacy machine type to an N1 that a zone has', () => {
    const machines = legacyMachineTypes.map(({ name }) => machineOf({ machineType: name, accelerator: null }).machine);
    expect(machines.length).toBeGreaterThan(10);
    expect(machines.filter(({ machineType }) => !machineType.startsWith('n1-'))).toEqual([]);
    expect(machines.filter((machine) => zonesFor('us-central1', [machine]).length === 0)).toEqual([]);
  });

  it('lists zones only under their own region', () => {
    expect(
      Object.entries(regions).filter(([region, zones]) => zones.some((zone) => zone.replace(/-[a-z]$/, '') !== region)),
    ).toEqual([]);
    expect(listRegions()).toContain('us-central1');
  });

  it.each(
    ['a2-highgpu-8g', 'c2d-highmem-56', 'c3-standard-88', 'c3d-highcpu-30', 'e2-highcpu-32', 'g2-standard-96'].concat([
      'm1-megamem-96',
      'm1-ultramem-40',
      'n2-highmem-128',
      'n2d-standard-224',
      'n4-highmem-80',
      't2d-standard-60',
    ]),
  )('knows where %s is, and its prices', (name) => {
    const machine = { machineType: name, accelerator: null };
    expect(regionsFor([machine])).toContain('us-central1');
    const spot = priceOf([{ ...machine, count: 1 }], 'SPOT').perHourUsd ?? 0;
    expect(spot).toBeGreaterThan(0);
    expect(priceOf([{ ...machine, count: 1 }], 'STANDARD').perHourUsd).toBeGreaterThan(spot);
  });

  it('has no higher price for a smaller machine of the same kind', () => {
    const kinds = Map.groupBy(machineTypes, ({ name }) => name.replace(/-\d+g?$/, ''));
    const disordered = [...kinds.values()].flatMap((types) => {
      // g2-standard-24 has two GPUs, and g2-standard-32 has one.
      const sorted = types
        .filter(({ gpu, onDemandPerHourUsd }) => gpu === null && onDemandPerHourUsd !== null)
        .sort((a, b) => a.vcpus - b.vcpus);
      return sorted.filter(
        (type, index) => (type.onDemandPerHourUsd ?? 0) < (sorted[index - 1]?.onDemandPerHourUsd ?? 0),
      );
    });
    expect(kinds.size).toBeGreaterThan(20);
    expect(disordered).toEqual([]);
  });
});

describe('provisioning models', () => {
  const modelsOf = (name: string) => findMachineType(name)?.provisioningModels;

  it.each([
    ['n1-standard-8', ['STANDARD', 'SPOT']],
    ['g2-standard-4', ['STANDARD', 'SPOT', 'FLEX_START']],
    ['a2-ultragpu-8g', ['STANDARD', 'SPOT', 'FLEX_START']],
    ['a3-highgpu-1g', ['SPOT', 'FLEX_START']],
    ['a3-ultragpu-8g', ['SPOT', 'FLEX_START']],
    ['a4-highgpu-8g', ['SPOT', 'FLEX_START']],
    ['g4-standard-48', ['STANDARD', 'SPOT']],
    ['a4x-highgpu-4g', []],
  ])('of %s are %j', (name, models) => {
    expect(modelsOf(name)).toEqual(models);
  });

  it('include Flex-start only for built-in GPUs', () => {
    const flexible = readCatalog().machineTypes.filter((type) => type.provisioningModels.includes('FLEX_START'));
    expect(flexible.length).toBeGreaterThan(20);
    expect(flexible.filter(({ gpu }) => gpu === null)).toEqual([]);
  });
});

describe('zones', () => {
  const machine = (machineType: string, accelerator: ReturnType<typeof gpus> | null = null) => ({
    machineType,
    accelerator,
  });

  it('are those that have all machines of the job', () => {
    const p4 = machine('n1-standard-8', gpus('nvidia-tesla-p4', 1));
    expect(zonesFor('us-central1', [p4])).toEqual(['us-central1-a', 'us-central1-c']);
    expect(zonesFor('europe-west4', [p4])).toEqual(['europe-west4-b', 'europe-west4-c']);
    expect(zonesFor('europe-west4', [p4, machine('a2-highgpu-1g')])).toEqual(['europe-west4-b']);
    expect(zonesFor('us-central1', [p4, machine('a4-highgpu-8g')])).toEqual([]);
    expect(regionsFor([p4, machine('n1-standard-8', t4(1)), machine('a2-highgpu-1g')])).toContain('us-central1');
  });

  it('are known for G4 and A4X by region', () => {
    expect(zonesFor('us-east5', [machine('g4-standard-48')])).toEqual(['us-east5-a', 'us-east5-b', 'us-east5-c']);
    expect(regionsFor([machine('a4x-highgpu-4g')])).toEqual(['europe-west4', 'us-central1', 'us-east1', 'us-east4']);
  });

  it('are empty for machines that the region does not have or that do not exist', () => {
    expect(zonesFor('us-west2', [machine('a2-highgpu-1g')])).toEqual([]);
    expect(zonesFor('nowhere', [machine('n1-standard-4')])).toEqual([]);
    expect(zonesFor('us-central1', [machine('n1-standard-5')])).toEqual([]);
    expect(regionsFor([machine('a2-megagpu-16g')])).toEqual(['asia-southeast1', 'europe-west4', 'us-central1']);
  });
});

describe('prices', () => {
  const four = { machineType: 'n1-standard-4', accelerator: null, count: 4 };

  it('are sums of machines and attached GPUs', () => {
    expect(priceOf([four], 'STANDARD')).toEqual({ perHourUsd: 0.76, asOf: '2026-11-20', region: 'us-central1' });
    expect(priceOf([{ machineType: 'n1-standard-8', accelerator: t4(2), count: 1 }], 'STANDARD').perHourUsd).toBe(1.08);
    expect(priceOf([{ machineType: 'a2-highgpu-1g', accelerator: null, count: 1 }], 'SPOT').perHourUsd).toBe(1.80385);
  });

  it('are those of each group’s own provisioning model, or of the job’s', () => {
    const spot = { ...four, provisioningModel: 'SPOT' } as const;
    const [own, ofJob] = [priceOf([spot], 'STANDARD'), priceOf([four], 'SPOT')];
    expect(own).toEqual(ofJob);
    expect(own.perHourUsd).toBeLessThan(0.76);
    expect(priceOf([four, spot], 'STANDARD').perHourUsd).toBeCloseTo(0.76 + (own.perHourUsd ?? 0));
    expect(priceOf([{ ...four, provisioningModel: 'STANDARD' }], 'SPOT').perHourUsd).toBe(0.76);
  });

  it('include a premium on Vertex AI', () => {
    expect(vertexPriceOf([{ ...four, count: 1 }]).perHourUsd).toBe(0.2185);
    expect(vertexPriceOf([{ machineType: 'a2-highgpu-8g', accelerator: null, count: 1 }]).perHourUsd).toBe(35.264496);
  });

  it('are those of cores and memory for machines without GPUs', () => {
    const price = (machineType: string) =>
      priceOf([{ machineType, accelerator: null, count: 1 }], 'STANDARD').perHourUsd;
    expect(price('e2-standard-4')).toBe(0.13402);
    expect(price('n2-standard-8')).toBe(0.38847);
    expect(price('c2-standard-60')).toBe(3.13212);
  });

  it('of Flex-start are known for G2 only, and equal those on demand', () => {
    const flexPrice = (machineType: string, accelerator: ReturnType<typeof gpus> | null = null) =>
      priceOf([{ machineType, accelerator, count: 2 }], 'FLEX_START').perHourUsd;
    expect(flexPrice('g2-standard-4')).toBe(1.41366);
    expect(flexPrice('a2-highgpu-1g')).toBeNull();
    expect(flexPrice('n1-standard-8', t4(1))).toBeNull();
  });

  it('are unknown if the price of one machine is unknown', () => {
    const unknown = { machineType: 'g4-standard-48', accelerator: null, count: 1 };
    expect(priceOf([four, unknown], 'STANDARD').perHourUsd).toBeNull();
    expect(priceOf([four, { ...unknown, machineType: 'n1-standard-5' }], 'STANDARD').perHourUsd).toBeNull();
  });
});
