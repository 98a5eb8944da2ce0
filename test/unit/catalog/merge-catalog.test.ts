import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiAnswers, ApiMachineType, Sku } from '#infra/tools/refresh-catalog/api-answers.ts';
import { mergeCatalog } from '#infra/tools/refresh-catalog/merge-catalog.ts';
import { printCatalog } from '#infra/tools/refresh-catalog/print-catalog.ts';
import { type Catalog, catalogSchema, readCatalog } from '#shared/catalog/catalog.ts';
import { EXAMPLE_CATALOG } from '../../support/catalog/example-catalog.ts';

/** What the APIs would say if the catalog were right. */
function answersThatAgree(catalog: Catalog): ApiAnswers {
  return {
    regions: Object.entries(catalog.regions).map(([name, zones]) => ({ name, zones })),
    machineTypes: catalog.machineTypes.flatMap((type) =>
      (catalog.availability[type.availability] ?? []).map((zone) => apiType(type.name, zone, type)),
    ),
    accelerators: catalog.accelerators.flatMap(({ name, zones }) => zones.map((zone) => ({ name, zone }))),
    skus: null,
    day: '2026-12-24',
  };
}

function apiType(name: string, zone: string, rest: Partial<ApiMachineType>): ApiMachineType {
  const { vcpus = 4, memoryGib = 16, gpu = null } = rest;
  return { name, zone, vcpus, memoryGib, gpu, isSharedCpu: false, isDeprecated: false, ...rest };
}

function sku(description: string, perUnitUsd: number | null, rest: Partial<Sku> = {}): Sku {
  return { description, perUnitUsd, usageType: 'OnDemand', regions: ['us-central1'], ...rest };
}

const agreeing = answersThatAgree(EXAMPLE_CATALOG);
const merge = (answers: Partial<ApiAnswers>) => mergeCatalog(EXAMPLE_CATALOG, { ...agreeing, ...answers });
const findType = (catalog: Catalog, name: string) => catalog.machineTypes.find((type) => type.name === name);
const zonesOf = (catalog: Catalog, name: string) => catalog.availability[findType(catalog, name)?.availability ?? ''];

describe('merging the APIs’ answers', () => {
  it('changes nothing where they agree', () => {
    expect(merge({})).toEqual({ catalog: EXAMPLE_CATALOG, changes: [], doubts: [] });
    const real = readCatalog();
    expect(mergeCatalog(real, answersThatAgree(real))).toEqual({ catalog: real, changes: [], doubts: [] });
  });

  it('takes over regions and zones that are new, and lets go of those that are gone', () => {
    const { catalog, changes } = merge({
      regions: [
        { name: 'us-central1', zones: ['us-central1-b', 'us-central1-a', 'us-central1-ai1b'] },
        { name: 'africa-south1', zones: ['africa-south1-a'] },
      ],
      machineTypes: [...agreeing.machineTypes, apiType('n4-standard-4', 'africa-south1-a', {})],
    });
    expect(catalog.regions).toEqual({
      'africa-south1': ['africa-south1-a'],
      'us-central1': ['us-central1-a', 'us-central1-b'],
    });
    expect(changes).toContainEqual({ name: 'europe-west4', change: '-europe-west4-a' });
    expect(changes).toContainEqual({ name: 'n4-standard-4', change: '+africa-south1-a' });
    expect(zonesOf(catalog, 'n1-standard-4')).toEqual(['us-central1-a', 'us-central1-b']);
  });

  it('gives a machine type zones of its own when it leaves those of its series', () => {
    const { catalog, changes } = merge({
      machineTypes: agreeing.machineTypes.filter(
        ({ name, zone }) => name !== 'n1-standard-8' || zone === 'us-central1-a',
      ),
    });
    expect(zonesOf(catalog, 'n1-standard-4')).toEqual(['europe-west4-a', 'us-central1-a', 'us-central1-b']);
    expect(zonesOf(catalog, 'n1-standard-8')).toEqual(['us-central1-a']);
    expect(changes).toEqual([{ name: 'n1-standard-8', change: '-europe-west4-a -us-central1-b' }]);
  });

  it('keeps a machine type that no zone has, without zones', () => {
    const { catalog } = merge({ machineTypes: agreeing.machineTypes.filter(({ name }) => name !== 'g2-standard-4') });
    expect(findType(catalog, 'g2-standard-4')).toMatchObject({ vcpus: 4, onDemandPerHourUsd: 0.7 });
    expect(zonesOf(catalog, 'g2-standard-4')).toEqual([]);
  });

  it('takes over sizes', () => {
    const resized = agreeing.machineTypes.map((type) =>
      type.name === 'n4-standard-4' ? { ...type, memoryGib: 17 } : type,
    );
    const { catalog, changes } = merge({ machineTypes: resized });
    expect(findType(catalog, 'n4-standard-4')?.memoryGib).toBe(17);
    expect(changes).toEqual([{ name: 'n4-standard-4', change: 'has 4 vCPUs and 17 GiB' }]);
  });

  it('adds what is new of a kind that it has, as the others of its kind are', () => {
    const { catalog, changes } = merge({
      machineTypes: [...agreeing.machineTypes, apiType('n4-standard-8', 'us-central1-b', { vcpus: 8, memoryGib: 32 })],
    });
    expect(catalog.machineTypes.map(({ name }) => name).slice(2, 4)).toEqual(['n4-standard-4', 'n4-standard-8']);
    expect(findType(catalog, 'n4-standard-8')).toMatchObject({
      vcpus: 8,
      provisioningModels: ['STANDARD', 'SPOT'],
      onDemandPerHourUsd: null,
    });
    expect(zonesOf(catalog, 'n4-standard-8')).toEqual(['us-central1-b']);
    expect(changes).toEqual([{ name: 'n4-standard-8', change: 'is new, in 1 zones' }]);
  });

  it.each([
    ['another name of an M1', 'n1-ultramem-40', {}],
    ['a series that it does not have', 'z3-standard-88', {}],
    ['a variant with local SSD', 'n4-standard-4-lssd', {}],
    ['a shared core', 'n1-standard-1', { isSharedCpu: true }],
    ['what is on its way out', 'n4-standard-2', { isDeprecated: true }],
  ])('leaves out %s', (_, name, rest) => {
    expect(merge({ machineTypes: [...agreeing.machineTypes, apiType(name, 'us-central1-a', rest)] })).toEqual({
      catalog: EXAMPLE_CATALOG,
      changes: [],
      doubts: [],
    });
  });

  it('leaves to a person how a new kind of GPU machine is provisioned, and what a new GPU is', () => {
    const h100 = { type: 'nvidia-h100-80gb', count: 2 };
    const { catalog, doubts } = merge({
      machineTypes: [
        ...agreeing.machineTypes,
        apiType('a3-highgpu-2g', 'us-central1-a', { gpu: h100 }),
        apiType('g2-standard-5', 'us-central1-a', { gpu: { type: 'nvidia-l9', count: 1 } }),
      ],
      accelerators: ['nvidia-l9', 'nvidia-l9-vws', 'ct6e'].map((name) => ({ name, zone: 'us-central1-a' })),
    });
    expect(catalog.machineTypes).toHaveLength(EXAMPLE_CATALOG.machineTypes.length);
    expect(doubts).toEqual([
      'a3-highgpu-2g is new: how it can be provisioned is to be written by hand.',
      'g2-standard-5 is new, but its GPU nvidia-l9 is not in the catalog.',
      'nvidia-l9 is new: its label, memory and rules are to be written by hand.',
    ]);
  });

  it('takes over where a GPU can be attached, and keeps the rules for it', () => {
    const { catalog, changes } = merge({ accelerators: [{ name: 'nvidia-tesla-t4', zone: 'us-central1-b' }] });
    expect(catalog.accelerators[0]).toEqual({ ...EXAMPLE_CATALOG.accelerators[0], zones: ['us-central1-b'] });
    expect(changes).toEqual([{ name: 'nvidia-tesla-t4', change: '+us-central1-b -us-central1-a' }]);
  });

  it('says in the catalog what was read when, once', () => {
    const accelerators = [{ name: 'nvidia-tesla-t4', zone: 'us-central1-b' }];
    const once = merge({ accelerators }).catalog;
    expect(once.sources.at(-1)).toBe('Compute Engine API, read on 2026-12-24: regions, zones and shapes');
    expect(once.asOf).toBe('2026-01-01');
    expect(mergeCatalog(once, { ...agreeing, day: '2027-01-01' }).catalog.sources).toEqual([
      ...EXAMPLE_CATALOG.sources,
      'Compute Engine API, read on 2027-01-01: regions, zones and shapes',
    ]);
  });

  it('gives every machine type exactly the zones that were said, whatever was said, and is then content', () => {
    const { machineTypes, regions } = EXAMPLE_CATALOG;
    const zones = Object.values(regions).flat();
    const pairs = machineTypes.flatMap((type) => zones.map((zone) => apiType(type.name, zone, type)));
    const some = fc.subarray(pairs);
    fc.assert(
      fc.property(some, some, (first, second) => {
        const between = merge({ machineTypes: first }).catalog;
        const { catalog } = mergeCatalog(between, { ...agreeing, machineTypes: second });
        for (const { name } of machineTypes) {
          const said = second.filter((type) => type.name === name).map(({ zone }) => zone);
          expect(zonesOf(catalog, name)).toEqual(said.sort());
        }
        expect(mergeCatalog(catalog, { ...agreeing, machineTypes: second }).changes).toEqual([]);
        expect(catalogSchema.parse(JSON.parse(printCatalog(catalog)))).toEqual(catalog);
      }),
    );
  });
});

describe('merging prices', () => {
  const n1 = 'N1 Predefined Instance';
  const skus = [
    sku(`${n1} Core running in Americas`, 0.03),
    sku(`${n1} Ram running in Americas`, 0.004),
    sku(`Spot Preemptible ${n1} Core running in Americas`, 0.006, { usageType: 'Preemptible' }),
    sku(`Spot Preemptible ${n1} Ram running in Americas`, 0.001, { usageType: 'Preemptible' }),
    sku('Nvidia Tesla T4 GPU running in Americas', 0.4),
    sku('G2 Instance Core running in Americas', 0.025),
    sku('G2 Instance Ram running in Americas', 0.003),
    sku('Nvidia L4 GPU running in Americas', 0.5),
  ];

  it('adds up cores and memory, and GPUs that are built in', () => {
    const { catalog } = merge({ skus });
    expect(findType(catalog, 'n1-standard-8')).toMatchObject({ onDemandPerHourUsd: 0.36, spotPerHourUsd: 0.078 });
    expect(findType(catalog, 'g2-standard-4')).toMatchObject({
      onDemandPerHourUsd: 0.648,
      spotPerHourUsd: 0.3,
      flexStartPerHourUsd: 0.648,
    });
    expect(catalog.accelerators[0]).toMatchObject({ onDemandPerHourUsd: 0.4, spotPerHourUsd: null });
    expect(catalog.asOf).toBe('2026-12-24');
  });

  it('says what costs something else now, and what has no price there', () => {
    const { changes, doubts } = merge({ skus });
    expect(changes).toContainEqual({ name: 'n1-standard-8', change: 'costs 0.36 on demand, not 0.38' });
    expect(doubts).toContain('n4-standard-4 has no price in the Cloud Billing Catalog: the old one is kept.');
    expect(doubts.filter((doubt) => doubt.startsWith('n1-'))).toEqual([]);
  });

  it('keeps a price that differs by rounding alone', () => {
    const rounded = [sku(`${n1} Core running in Americas`, 0.0475), sku(`${n1} Ram running in Americas`, 0.0000007)];
    expect(findType(merge({ skus: rounded }).catalog, 'n1-standard-4')?.onDemandPerHourUsd).toBe(0.19);
  });

  it.each([
    ['is of another region', sku(`${n1} Core running in Frankfurt`, 9, { regions: ['europe-west3'] })],
    ['is of a commitment', sku(`Commitment v1: ${n1} Core running in Americas`, 9)],
    ['is of custom machines', sku('Custom Instance Core running in Americas', 9)],
    ['is billed otherwise', sku(`${n1} Core running in Americas`, 9, { usageType: 'Commit1Yr' })],
  ])('takes no price that %s', (_, other) => {
    expect(merge({ skus: [other, ...skus] })).toEqual(merge({ skus }));
  });

  it('takes none where two disagree', () => {
    const { catalog } = merge({ skus: [...skus, sku(`${n1} Core running in Iowa`, 0.05)] });
    expect(findType(catalog, 'n1-standard-8')?.onDemandPerHourUsd).toBe(0.38);
  });

  it('leaves machines with local SSD alone, whose price has more parts', () => {
    const h100 = [sku('A3 Instance Core running in Americas', 1), sku('Nvidia H100 80GB GPU running in Americas', 1)];
    expect(findType(merge({ skus: [...skus, ...h100] }).catalog, 'a3-highgpu-1g')?.onDemandPerHourUsd).toBe(11);
  });
});
