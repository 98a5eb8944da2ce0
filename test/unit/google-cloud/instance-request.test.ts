import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protos from '@google-cloud/compute/build/protos/protos.js';
import { describe, expect, it } from 'vitest';
import { listBootSources, type RuntimeImages } from '#infra/google-cloud/compute-engine/boot-source.ts';
import {
  requestIdOf,
  toInsertRequest,
  type VmDefaults,
  vmDefaultsSchema,
} from '#infra/google-cloud/compute-engine/instance-request.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

const DEFAULTS = vmDefaultsSchema.parse({
  projectId: 'acme',
  subnetwork: 'projects/acme/regions/{region}/subnetworks/dropforge',
  serviceAccount: 'dropforge-vm@acme.iam.gserviceaccount.com',
});

const HARDENED = {
  hasSecureBoot: true,
  hasShellAccess: false,
  diskKmsKey: 'projects/keys/locations/us-central1/keyRings/training/cryptoKeys/disks',
};

const IMAGES: RuntimeImages = {
  'runtime-2-11': { machineImages: ['runtime-2-11-a', 'runtime-2-11-b', 'runtime-2-11-c'], image: 'runtime-2-11-disk' },
};

const BASE: VmRequest = {
  role: 'master',
  index: 0,
  vmName: 'df-job-0000000000000-a1-master-0',
  zone: 'us-central1-a',
  jobId: 'job',
  attempt: 1,
  machineType: 'n1-standard-8',
  accelerator: { type: 'nvidia-tesla-t4', count: 1 },
  provisioningModel: 'STANDARD',
  machineImage: 'runtime-2-11',
  bootDiskGib: 100,
  bootDiskType: 'pd-ssd',
  reservation: null,
  ...{ serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null },
  labels: {},
  capacityWaitSeconds: null,
  maxRunSeconds: 7_200,
  metadata: { 'startup-script': '#!/bin/bash\n', 'enable-guest-attributes': 'TRUE' },
};

type Case = {
  readonly name: string;
  readonly change: Partial<VmRequest>;
  readonly rotation?: number;
  readonly defaults?: Partial<VmDefaults>;
};

const CASES: readonly Case[] = [
  { name: 'n1-with-t4-on-demand', change: {} },
  { name: 'spot', change: { provisioningModel: 'SPOT' } },
  {
    name: 'flex-start',
    change: {
      provisioningModel: 'FLEX_START',
      capacityWaitSeconds: 7_200,
      machineType: 'a2-highgpu-1g',
      accelerator: null,
      zone: 'europe-west4-b',
    },
  },
  { name: 'a100-built-in', change: { machineType: 'a2-highgpu-8g', accelerator: null } },
  {
    name: 'specific-reservation',
    change: { reservation: { kind: 'SPECIFIC', names: ['projects/acme/zones/us-central1-a/reservations/gpus'] } },
  },
  {
    name: 'reservation-of-another-project',
    change: { reservation: { kind: 'SPECIFIC', names: ['projects/owner/zones/us-central1-a/reservations/gpus'] } },
  },
  { name: 'no-reservation', change: { reservation: { kind: 'NONE' } } },
  { name: 'custom-image-with-standard-disk', change: { bootDiskGib: 500, bootDiskType: 'pd-standard' } },
  {
    name: 'second-copy-of-the-machine-image',
    change: { jobId: 'Capital_Job', role: 'worker', index: 3, attempt: 12 },
    rotation: 4,
  },
  {
    name: 'cpu-only-with-labels',
    change: { accelerator: null, machineType: 'e2-standard-4', labels: { team: 'vision', cost: '7' } },
  },
  {
    name: 'rights-of-its-own',
    change: {
      serviceAccount: 'trainer@acme.iam.gserviceaccount.com',
      subnetwork: 'projects/net/regions/us-central1/subnetworks/gpu',
      networkAttachment: 'projects/data/regions/us-central1/networkAttachments/lake',
      kmsKeyName: 'projects/keys/locations/us-central1/keyRings/team/cryptoKeys/disks',
    },
    defaults: HARDENED,
  },
  { name: 'own-key-and-secure-boot', change: { bootDiskType: 'pd-balanced' }, defaults: HARDENED },
];

function insertRequest(change: Partial<VmRequest>, rotation = 0, defaults: Partial<VmDefaults> = {}) {
  const request = { ...BASE, ...change };
  const [source] = listBootSources(IMAGES, request, rotation);
  if (source === undefined) {
    throw new Error(`${request.machineImage} has no boot source.`);
  }
  return toInsertRequest(request, { ...DEFAULTS, ...defaults }, source);
}

function readGolden(name: string): Record<string, unknown> {
  const path = join(import.meta.dirname, `../../fixtures/instance-requests/${name}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
}

describe('the insert request of a VM', () => {
  it.each(CASES)('equals its golden file for $name', ({ name, change, rotation, defaults }) => {
    expect(insertRequest(change, rotation, defaults)).toEqual(readGolden(name));
  });

  it.each(CASES)('has only fields of the Compute API for $name', ({ name }) => {
    const { InsertInstanceRequest } = protos.google.cloud.compute.v1;
    const golden = readGolden(name);
    const message = InsertInstanceRequest.fromObject(golden);
    expect(InsertInstanceRequest.verify(message)).toBeNull();
    expect(InsertInstanceRequest.toObject(message, { longs: String, enums: String })).toEqual(golden);
  });

  it.each<{ readonly what: string; readonly change: Partial<VmRequest>; readonly policy: string }>([
    {
      what: 'on-demand VM without GPUs',
      change: { machineType: 'n1-standard-8', accelerator: null },
      policy: 'MIGRATE',
    },
    {
      what: 'Spot VM without GPUs',
      change: { machineType: 'n1-standard-8', accelerator: null, provisioningModel: 'SPOT' },
      policy: 'TERMINATE',
    },
    { what: 'on-demand VM with attached GPUs', change: {}, policy: 'TERMINATE' },
    {
      what: 'on-demand VM with built-in GPUs',
      change: { machineType: 'g2-standard-8', accelerator: null },
      policy: 'TERMINATE',
    },
  ])('lets Compute Engine $policy the VM when its host is maintained: $what', ({ change, policy }) => {
    expect(insertRequest(change).instanceResource?.scheduling?.onHostMaintenance).toBe(policy);
  });

  it('boots from no machine image if its job has a key, even if there is no image', () => {
    const images = { 'runtime-2-11': { machineImages: ['runtime-2-11-a'] } };
    expect(listBootSources(images, { ...BASE, kmsKeyName: HARDENED.diskKmsKey }, 0)).toEqual([]);
  });

  it('is compared in a way that detects unknown fields', () => {
    const { InsertInstanceRequest } = protos.google.cloud.compute.v1;
    const wrong = { project: 'acme', instanceResource: { name: 'x', machineTyp: 'n1' } };
    const message = InsertInstanceRequest.fromObject(wrong);
    expect(InsertInstanceRequest.toObject(message, { longs: String, enums: String })).not.toEqual(wrong);
  });

  it('has the same request id if repeated, and a different one for another VM, zone or source', () => {
    const ids = [{}, {}, { vmName: 'df-other' }, { zone: 'us-central1-b' }, { bootDiskGib: 200 }].map(
      (change) => insertRequest(change).requestId,
    );
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(4);
  });

  it('has a UUID as request id', () => {
    expect(requestIdOf('anything')).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it.each([
    ['a series that does not support machine images', { machineType: 'a3-highgpu-8g', accelerator: null }],
    ['a disk of another size', { bootDiskGib: 101 }],
    ['a disk of another type', { bootDiskType: 'pd-balanced' as const }],
  ])('uses the custom image for %s', (_, change) => {
    expect(insertRequest(change)).not.toHaveProperty('sourceMachineImage');
    expect(insertRequest(change).instanceResource?.disks).toMatchObject([
      { initializeParams: { sourceImage: 'projects/acme/global/images/runtime-2-11-disk' } },
    ]);
  });

  it('has no boot source for an unknown runtime', () => {
    expect(listBootSources(IMAGES, { ...BASE, machineImage: 'runtime-1-0' }, 0)).toEqual([]);
    expect(listBootSources(IMAGES, { ...BASE, machineImage: 'constructor' }, 0)).toEqual([]);
  });

  it('tries all copies of the machine image, starting with the VM’s own, and the custom image last', () => {
    expect(listBootSources(IMAGES, BASE, 4)).toEqual([
      { machineImage: 'runtime-2-11-b' },
      { machineImage: 'runtime-2-11-c' },
      { machineImage: 'runtime-2-11-a' },
      { image: 'runtime-2-11-disk' },
    ]);
    const [machineImages, disk] = [
      { 'runtime-2-11': { machineImages: ['a'] } },
      { 'runtime-2-11': { machineImages: [], image: 'i' } },
    ];
    expect(listBootSources(machineImages, { ...BASE, bootDiskGib: 500 }, 7)).toEqual([{ machineImage: 'a' }]);
    expect(listBootSources(disk, BASE, 7)).toEqual([{ image: 'i' }]);
  });
});

it('lets users log in with their own accounts only where shells are on', () => {
  const metadataOf = (hasShellAccess: boolean) =>
    toInsertRequest(BASE, { ...DEFAULTS, hasShellAccess }, { image: 'runtime-2-11-disk' }).instanceResource?.metadata;
  expect(metadataOf(true)?.items).toContainEqual({ key: 'enable-oslogin', value: 'TRUE' });
  expect(JSON.stringify(metadataOf(false))).not.toContain('oslogin');
});
