import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import { describeVmProviderContract, patientRequest, vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../support/google-cloud/compute-under-test.ts';

describeVmProviderContract('Compute Engine', async () => {
  const compute = await openComputeUnderTest();
  return {
    ...PLACE,
    vms: createComputeVmProvider(compute.engine),
    fullZone: 'local1-full',
    close: compute.close,
  };
});

const RATE_EXCEEDED =
  "Operation rate exceeded for resource 'projects/p/global/machineImages/python'. Too frequent operations from the source resource.";

async function withoutEnd(answered: Response | Promise<Response>): Promise<Response> {
  const operation = (await (await answered).json()) as object;
  return Response.json({ ...operation, status: 'RUNNING', progress: 0 });
}

/** The insertion is carried out, and its operation tells of a conflict, as that of a second one at the same time. */
async function afterAnother(answered: Response | Promise<Response>): Promise<Response> {
  await answered;
  const message = "The resource 'projects/p/zones/local1-a/instances/i' already exists";
  const error = { errors: [{ code: 'RESOURCE_ALREADY_EXISTS', message }] };
  return Response.json({ name: 'operation-1', status: 'DONE', error, httpErrorStatusCode: 409 });
}

describe('the VmProvider of Compute Engine, beside what every cloud does', () => {
  let compute: ComputeUnderTest;
  let vms: VmProvider;
  let refused: { readonly sourceMachineImage: string; readonly status: number; readonly message: string } | null;

  let refusalsCount = 0;
  /** Whether the operations of the door seem to go on for ever. */
  let isOpenEnded = false;
  /** Whether every insertion meets another one that has just won the name. */
  let isNameTaken = false;

  beforeEach(async () => {
    refused = null;
    refusalsCount = 0;
    isOpenEnded = false;
    isNameTaken = false;
    compute = await openComputeUnderTest({ stopGraceMs: 500 }, (request, pass) => {
      const { method, url } = request;
      const source = new URL(url).searchParams.get('sourceMachineImage');
      if (isNameTaken && method === 'POST') {
        return afterAnother(pass(request));
      }
      if (isOpenEnded && method === 'POST') {
        return withoutEnd(pass(request));
      }
      if (method !== 'POST' || refused === null || source?.endsWith(`/${refused.sourceMachineImage}`) !== true) {
        return undefined;
      }
      refusalsCount += 1;
      const { status, message } = refused;
      return Response.json({ error: { code: status, message } }, { status });
    });
    vms = createComputeVmProvider(compute.engine);
  });
  afterEach(() => compute.close());

  it('asks anew in a zone that had no room before, although the request is the same', async () => {
    const request = vmRequest(PLACE, 'patient');
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const refusals = [await vms.create(request), await vms.create(request)];
    expect(refusals).toMatchObject(Array(2).fill({ failure: { cause: { code: 'STOCKOUT' } } }));
    compute.cloud.vms().setStockout(PLACE.zone, false);

    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
  });

  it('finds a VM that has waited for capacity as it becomes', async () => {
    const request = patientRequest(PLACE, 'patient');
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const pending = await vms.create(request);
    expect(pending).toMatchObject({ outcome: 'PENDING' });
    compute.cloud.vms().setStockout(PLACE.zone, false);

    await expect.poll(async () => (await vms.find(request))?.status).toBe('RUNNING');
    expect(await vms.create(request)).toEqual({ ...pending, outcome: 'CREATED' });
  });

  it('does not wait for the end of an insertion whose VM is pending, should Compute Engine keep it open', async () => {
    compute.cloud.vms().setStockout(PLACE.zone, true);
    isOpenEnded = true;
    const request = patientRequest(PLACE, 'long');

    expect(await vms.create(request)).toMatchObject({ outcome: 'PENDING' });
    expect(await vms.create(request)).toMatchObject({ outcome: 'PENDING' });
  });

  it('hands on which zones have room, as the operation says', async () => {
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const outcome = await vms.create(vmRequest(PLACE, 'elsewhere'));
    expect(outcome).toMatchObject({ failure: { zonesAvailable: ['local1-b'] } });
  });

  it('takes another copy of the machine image when the pace for one is refused, and says so when all are', async () => {
    refused = { sourceMachineImage: 'copy', status: 403, message: RATE_EXCEEDED };
    const copies = createComputeVmProvider({
      ...compute.engine,
      images: { python: { machineImages: ['copy', 'python', 'copy'] } },
    });
    for (const name of ['burst-1', 'burst-2', 'burst-3']) {
      expect(await copies.create(vmRequest(PLACE, name))).toMatchObject({ outcome: 'CREATED' });
    }
    expect(refusalsCount).toBeGreaterThan(0);

    refused = { ...refused, sourceMachineImage: 'python' };
    const pressed = createComputeVmProvider({ ...compute.engine, images: { python: { machineImages: ['python'] } } });
    const outcome = await pressed.create({ ...vmRequest(PLACE, 'pressed'), bootDiskGib: 100 });
    expect(outcome).toMatchObject({ failure: { cause: { code: 'RATE_LIMITED' } } });
  });

  it('boots from the image where the pace for every copy of the machine image is refused', async () => {
    refused = { sourceMachineImage: 'python', status: 403, message: RATE_EXCEEDED };
    const request = { ...vmRequest(PLACE, 'hurried'), bootDiskGib: 100 };
    const created = await vms.create(request);

    expect([created.outcome, refusalsCount]).toEqual(['CREATED', 1]);
    refused = null;
    expect(await vms.create(request)).toEqual(created);
  });

  it('throws what passes by itself, so that the same request is made again', async () => {
    refused = { sourceMachineImage: 'python', status: 503, message: 'The service is currently unavailable.' };
    const request = { ...vmRequest(PLACE, 'retried'), bootDiskGib: 100 };
    await expect(vms.create(request)).rejects.toThrow('The service is currently unavailable.');
    refused = null;
    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
  });

  it('does not take a VM for made that is just being removed', async () => {
    const request = {
      ...vmRequest(PLACE, 'leaving'),
      metadata: { 'startup-script': "trap '' TERM; while :; do sleep 0.05; done" },
    };
    await vms.create(request);
    const deleted = vms.delete(request);
    await expect.poll(async () => (await vms.list({ jobId: 'leaving' }))[0]?.status).toBe('STOPPING');
    await expect(vms.create(request)).rejects.toThrow('is just being removed');
    expect(await deleted).toBe('GONE');
  });

  it('takes a VM for made that a concurrent delivery of the same request has won the name for', async () => {
    isNameTaken = true;
    const request = vmRequest(PLACE, 'concurrent');
    const outcome = await vms.create(request);

    expect(outcome).toEqual({ outcome: 'CREATED', instanceId: (await vms.find(request))?.instanceId });
  });

  it('refuses a name that the operation says a stranger’s VM bears', async () => {
    const request = vmRequest(PLACE, 'owner');
    await vms.create(request);
    isNameTaken = true;

    expect(await vms.create({ ...request, jobId: 'stranger' })).toMatchObject({
      failure: { cause: { code: 'CONFIGURATION_REFUSED', message: expect.stringContaining('already exists') } },
    });
    expect(await vms.find(request)).toMatchObject({ jobId: 'owner' });
  });

  it('lists jobs whose ids are too long for a label, and no VM that is somebody else’s', async () => {
    const [one, other] = ['B', 'C'].map((end) => `${'Z'.repeat(127)}${end}`);
    await vms.create({ ...vmRequest(PLACE, 'long-b'), jobId: String(one) });
    await vms.create({ ...vmRequest(PLACE, 'long-c'), jobId: String(other) });
    const { zone } = PLACE;
    await compute.instances.insert({
      ...{ project: 'p', zone, sourceMachineImage: 'projects/p/global/machineImages/python' },
      instanceResource: {
        name: 'stranger',
        labels: { 'managed-by': 'terraform' },
        metadata: { items: [{ key: 'startup-script', value: 'sleep 300 & wait' }] },
      },
    });
    await expect.poll(() => compute.cloud.vms().listRecords().length).toBe(3);

    expect((await vms.list({ jobId: String(one) })).map(({ vmName }) => vmName)).toEqual(['df-long-b-a1-master-0']);
    expect((await vms.list()).map(({ jobId }) => jobId).sort()).toEqual([one, other]);
    expect(await compute.cloud.vms().list()).toHaveLength(2);
  });

  it('makes the same VM as the embedded cloud’s own provider is asked for', async () => {
    const request = {
      ...vmRequest(PLACE, 'same'),
      ...{ role: 'worker' as const, index: 7, vmName: 'df-same-a1-worker-7', jobId: 'Same_1' },
      ...{ accelerator: { type: 'nvidia-tesla-t4', count: 2 }, labels: { team: 'vision' }, bootDiskGib: 500 },
      ...{ bootDiskType: 'pd-standard' as const, reservation: { kind: 'NONE' as const } },
    };
    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
    expect(compute.cloud.records().map((record) => record.request)).toEqual([request]);
    expect(compute.faults).toEqual([]);
  });
});
