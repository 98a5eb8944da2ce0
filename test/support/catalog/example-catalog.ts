import type { Catalog, MachineFamily, MachineType } from '#shared/catalog/catalog.ts';

/** A small catalog: two regions, N1 with T4, N4, G2 and A3. */
export const EXAMPLE_CATALOG: Catalog = {
  asOf: '2026-01-01',
  currency: 'USD',
  priceRegion: 'us-central1',
  sources: ['a page about GPUs (2026-01-01): all of it'],
  notes: ['Written for tests.'],
  families: {
    n1: family({ skuPrefix: 'N1 Predefined Instance', attachesGpus: true }),
    n4: family({ skuPrefix: 'N4 Instance', bootDisks: ['hyperdisk-balanced'], bootsFromMachineImages: false }),
    g2: family({ skuPrefix: 'G2 Instance' }),
    a3: family({ bootsFromMachineImages: false }),
  },
  regions: { 'europe-west4': ['europe-west4-a'], 'us-central1': ['us-central1-a', 'us-central1-b'] },
  availability: {
    n1: ['europe-west4-a', 'us-central1-a', 'us-central1-b'],
    n4: ['us-central1-a'],
    g2: ['us-central1-a'],
    'a3-high': ['us-central1-b'],
  },
  machineTypes: [
    machineType('n1-standard-4', { vcpus: 4, memoryGib: 15, onDemandPerHourUsd: 0.19, spotPerHourUsd: 0.04 }),
    machineType('n1-standard-8', { vcpus: 8, memoryGib: 30, onDemandPerHourUsd: 0.38, spotPerHourUsd: 0.08 }),
    machineType('n4-standard-4', { vcpus: 4, memoryGib: 16 }),
    machineType('g2-standard-4', {
      vcpus: 4,
      memoryGib: 16,
      gpu: { type: 'nvidia-l4', count: 1 },
      provisioningModels: ['STANDARD', 'SPOT', 'FLEX_START'],
      onDemandPerHourUsd: 0.7,
      spotPerHourUsd: 0.3,
      flexStartPerHourUsd: 0.7,
    }),
    machineType('a3-highgpu-1g', {
      vcpus: 26,
      memoryGib: 234,
      gpu: { type: 'nvidia-h100-80gb', count: 1 },
      availability: 'a3-high',
      provisioningModels: ['SPOT', 'FLEX_START'],
      onDemandPerHourUsd: 11,
      spotPerHourUsd: 3,
    }),
    machineType('a3-highgpu-8g', {
      vcpus: 208,
      memoryGib: 1872,
      gpu: { type: 'nvidia-h100-80gb', count: 8 },
      availability: 'a3-high',
      provisioningModels: ['STANDARD', 'SPOT', 'FLEX_START'],
    }),
  ],
  notOffered: [],
  accelerators: [
    {
      ...gpu('nvidia-tesla-t4', 'T4'),
      onDemandPerHourUsd: 0.35,
      attach: [{ count: 1, vcpusMax: 48, memoryGibMax: 312 }],
      zones: ['us-central1-a'],
    },
    gpu('nvidia-l4', 'L4'),
    gpu('nvidia-h100-80gb', 'H100'),
  ],
  legacyMachineTypes: [{ name: 'standard', machineType: 'n1-standard-4', accelerator: null }],
  tpus: ['TPU_V2'],
  tpuMachineTypes: [{ name: 'cloud_tpu', vcpus: null, memoryGib: null, tpuDefault: { type: 'TPU_V2', count: 8 } }],
  scaleTiers: [
    { name: 'BASIC', groups: [{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null }] },
  ],
};

function machineType(name: string, rest: Partial<MachineType> & Pick<MachineType, 'vcpus' | 'memoryGib'>): MachineType {
  return {
    name,
    gpu: null,
    availability: name.split('-')[0] ?? name,
    provisioningModels: ['STANDARD', 'SPOT'],
    onDemandPerHourUsd: null,
    spotPerHourUsd: null,
    flexStartPerHourUsd: null,
    ...rest,
  };
}

function family(rest: Partial<MachineFamily>): MachineFamily {
  return {
    skuPrefix: null,
    bootDisks: ['pd-ssd'],
    bootsFromMachineImages: true,
    attachesGpus: false,
    architecture: 'amd64',
    hostMaintenance: 'MIGRATE',
    vertexPremium: 1.15,
    ...rest,
  };
}

function gpu(name: string, label: string): Catalog['accelerators'][number] {
  const prices = { onDemandPerHourUsd: null, spotPerHourUsd: null };
  const skuPrefix = label === 'H100' ? null : `Nvidia ${name.startsWith('nvidia-tesla') ? 'Tesla ' : ''}${label}`;
  return { name, label, skuPrefix, memoryGibPerGpu: 16, replacement: null, ...prices, attach: null, zones: [] };
}
