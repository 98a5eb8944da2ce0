import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiMachineType, ApiResponses, Sku } from '#infra/tools/refresh-catalog/api-responses.ts';
import { mergeCatalog } from '#infra/tools/refresh-catalog/merge-catalog.ts';
import { printCatalog } from '#infra/tools/refresh-catalog/print-catalog.ts';
import { type Catalog, catalogSchema, readCatalog } from '#shared/catalog/catalog.ts';
import { EXAMPLE_CATALOG } from '../../support/catalog/example-catalog.ts';

/** API responses that match the catalog. */
function matchingResponses(catalog: Catalog): ApiResponses {
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

const matching = matchingResponses(EXAMPLE_CATALOG);
const merge = (responses: Partial<ApiResponses>) => mergeCatalog(EXAMPLE_CATALOG, { ...matching, ...responses });
const findType = (catalog: Catalog, name: string) => catalog.machineTypes.find((type) => type.name === name);
const zonesOf = (catalog: Catalog, name: string) => catalog.availability[findType(catalog, name)?.availability ?? ''];

describe('merging the APIs’ responses', () => {
  it('changes nothing if they agree', () => {
    expect(merge({})).toEqual({ catalog: EXAMPLE_CATALOG, changes: [], reviewNotes: [] });
    const real = readCatalog();
    expect(mergeCatalog(real, matchingResponses(real))).toEqual({ catalog: real, changes: [], reviewNotes: [] });
  });

  it('adds new regions and zones, and removes old ones', () => {
    const { catalog, changes } = merge({
      regions: [
        { name: 'us-central1', zones: ['us-central1-b', 'us-central1-a', 'us-central1-ai1b'] },
        { name: 'africa-south1', zones: ['africa-south1-a'] },
      ],
      machineTypes: [...matching.machineTypes, apiType('n4-standard-4', 'africa-south1-a', {})],
    });
    expect(catalog.regions).toEqual({
      'africa-south1': ['africa-south1-a'],
      'us-central1': ['us-central1-a', 'us-central1-b'],
    });
    expect(changes).toContainEqual({ name: 'europe-west4', change: '-europe-west4-a' });
    expect(changes).toContainEqual({ name: 'n4-standard-4', change: '+africa-south1-a' });
    expect(zonesOf(catalog, 'n1-standard-4')).toEqual(['us-central1-a', 'us-central1-b']);
  });

  it('splits off the zones of a machine type that differ from its series', () => {
    const { catalog, changes } = merge({
      machineTypes: matching.machineTypes.filter(
        ({ name, zone }) => name !== 'n1-standard-8' || zone === 'us-central1-a',
      ),
    });
    expect(zonesOf(catalog, 'n1-standard-4')).toEqual(['europe-west4-a', 'us-central1-a', 'us-central1-b']);
    expect(zonesOf(catalog, 'n1-standard-8')).toEqual(['us-central1-a']);
    expect(changes).toEqual([{ name: 'n1-standard-8', change: '-europe-west4-a -us-central1-b' }]);
  });

  it('keeps a machine type without zones', () => {
    const { catalog } = merge({ machineTypes: matching.machineTypes.filter(({ name }) => name !== 'g2-standard-4') });
    expect(findType(catalog, 'g2-standard-4')).toMatchObject({ vcpus: 4, onDemandPerHourUsd: 0.7 });
    expect(zonesOf(catalog, 'g2-standard-4')).toEqual([]);
  });

  it('updates sizes', () => {
    const resized = matching.machineTypes.map((type) =>
      type.name === 'n4-standard-4' ? { ...type, memoryGib: 17 } : type,
    );
    const { catalog, changes } = merge({ machineTypes: resized });
    expect(findType(catalog, 'n4-standard-4')?.memoryGib).toBe(17);
    expect(changes).toEqual([{ name: 'n4-standard-4', change: 'has 4 vCPUs and 17 GiB' }]);
  });

  it('adds new machine types of a known kind, based on the others', () => {
    const { catalog, changes } = merge({
      machineTypes: [...matching.machineTypes, apiType('n4-standard-8', 'us-central1-b', { vcpus: 8, memoryGib: 32 })],
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
    ['an unknown series', 'z3-standard-88', {}],
    ['a variant with local SSD', 'n4-standard-4-lssd', {}],
    ['a shared core', 'n1-standard-1', { isSharedCpu: true }],
    ['a deprecated machine type', 'n4-standard-2', { isDeprecated: true }],
  ])('ignores %s', (_, name, rest) => {
    expect(merge({ machineTypes: [...matching.machineTypes, apiType(name, 'us-central1-a', rest)] })).toEqual({
      catalog: EXAMPLE_CATALOG,
      changes: [],
      reviewNotes: [],
    });
  });

  it('requests review for the provisioning of a new kind of GPU machine, and for a new GPU', () => {
    const h100 = { type: 'nvidia-h100-80gb', count: 2 };
    const { catalog, reviewNotes } = merge({
      machineTypes: [
        ...matching.machineTypes,
        apiType('a3-highgpu-2g', 'us-central1-a', { gpu: h100 }),
        apiType('g2-standard-5', 'us-central1-a', { gpu: { type: 'nvidia-l9', count: 1 } }),
      ],
      accelerators: ['nvidia-l9', 'nvidia-l9-vws', 'ct6e'].map((name) => ({ name, zone: 'us-central1-a' })),
    });
    expect(catalog.machineTypes).toHaveLength(EXAMPLE_CATALOG.machineTypes.length);
    expect(reviewNotes).toEqual([
      'a3-highgpu-2g is new: add its provisioning models manually.',
      'g2-standard-5 is new, but its GPU nvidia-l9 is not in the catalog.',
      'nvidia-l9 is new: add its label, memory and rules manually.',
    ]);
  });

  it('updates the zones of an attachable GPU, and keeps its rules', () => {
    const { catalog, changes } = merge({ accelerators: [{ name: 'nvidia-tesla-t4', zone: 'us-central1-b' }] });
    expect(catalog.accelerators[0]).toEqual({ ...EXAMPLE_CATALOG.accelerators[0], zones: ['us-central1-b'] });
    expect(changes).toEqual([{ name: 'nvidia-tesla-t4', change: '+us-central1-b -us-central1-a' }]);
  });

  it('records once in the catalog what was read and when', () => {
    const accelerators = [{ name: 'nvidia-tesla-t4', zone: 'us-central1-b' }];
    const once = merge({ accelerators }).catalog;
    expect(once.sources.at(-1)).toBe('Compute Engine API, read on 2026-12-24: regions, zones and shapes');
    expect(once.asOf).toBe('2026-01-01');
    expect(mergeCatalog(once, { ...matching, day: '2027-01-01' }).catalog.sources).toEqual([
      ...EXAMPLE_CATALOG.sources,
      'Compute Engine API, read on 2027-01-01: regions, zones and shapes',
    ]);
  });

  it('gives every machine type exactly the zones of the response, and is idempotent (property)', () => {
    const { machineTypes, regions } = EXAMPLE_CATALOG;
    const zones = Object.values(regions).flat();
    const pairs = machineTypes.flatMap((type) => zones.map((zone) => apiType(type.name, zone, type)));
    const some = fc.subarray(pairs);
    fc.assert(
      fc.property(some, some, (first, second) => {
        const between = merge({ machineTypes: first }).catalog;
        const { catalog } = mergeCatalog(between, { ...matching, machineTypes: second });
        for (const { name } of machineTypes) {
          const said = second.filter((type) => type.name === name).map(({ zone }) => zone);
          expect(zonesOf(catalog, name)).toEqual(said.sort());
        }
        expect(mergeCatalog(catalog, { ...matching, machineTypes: second }).changes).toEqual([]);
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

  it('sums cores, memory and built-in GPUs', () => {
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

  it('reports changed and missing prices', () => {
    const { changes, reviewNotes } = merge({ skus });
    expect(changes).toContainEqual({ name: 'n1-standard-8', change: 'costs 0.36 on demand, not 0.38' });
    expect(reviewNotes).toContain(
      'n4-standard-4 has no price in the Cloud Billing Catalog: the previous price is kept.',
    );
    expect(reviewNotes.filter((note) => note.startsWith('n1-'))).toEqual([]);
  });

  it('keeps a price that differs only by rounding', () => {
    const rounded = [sku(`${n1} Core running in Americas`, 0.0475), sku(`${n1} Ram running in Americas`, 0.0000007)];
    expect(findType(merge({ skus: rounded }).catalog, 'n1-standard-4')?.onDemandPerHourUsd).toBe(0.19);
  });

  it.each([
    ['is of another region', sku(`${n1} Core running in Frankfurt`, 9, { regions: ['europe-west3'] })],
    ['is of a commitment', sku(`Commitment v1: ${n1} Core running in Americas`, 9)],
    ['is of custom machines', sku('Custom Instance Core running in Americas', 9)],
    ['has another usage type', sku(`${n1} Core running in Americas`, 9, { usageType: 'Commit1Yr' })],
  ])('ignores a price that %s', (_, other) => {
    expect(merge({ skus: [other, ...skus] })).toEqual(merge({ skus }));
  });

  it('ignores prices that differ from each other', () => {
    const { catalog } = merge({ skus: [...skus, sku(`${n1} Core running in Iowa`, 0.05)] });
    expect(findType(catalog, 'n1-standard-8')?.onDemandPerHourUsd).toBe(0.38);
  });

  it('ignores machines with local SSD, whose price has further parts', () => {
    const h100 = [sku('A3 Instance Core running in Americas', 1), sku('Nvidia H100 80GB GPU running in Americas', 1)];
    expect(findType(merge({ skus: [...skus, ...h100] }).catalog, 'a3-highgpu-1g')?.onDemandPerHourUsd).toBe(11);
  });
});
