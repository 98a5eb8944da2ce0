import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import { describeVmProviderContract, flexStartRequest, vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../support/google-cloud/compute-under-test.ts';

describeVmProviderContract('Compute Engine', async () => {
  const compute = await openComputeUnderTest();
  return {
    ...PLACE,
    vms: createComputeVmProvider(compute.engine),
    fullZone: 'local1-full',
    setUnreachable: compute.outages.set,
    close: compute.close,
  };
});

const RATE_EXCEEDED =
  "Operation rate exceeded for resource 'projects/p/global/machineImages/python'. Too frequent operations from the source resource.";

async function asUnfinished(response: Response | Promise<Response>): Promise<Response> {
  const operation = (await (await response).json()) as object;
  return Response.json({ ...operation, status: 'RUNNING', progress: 0 });
}

/** The insertion succeeds, but its operation reports a conflict, as that of a concurrent second insertion. */
async function asConflict(response: Response | Promise<Response>): Promise<Response> {
  await response;
  const message = "The resource 'projects/p/zones/local1-a/instances/i' already exists";
  const error = { errors: [{ code: 'RESOURCE_ALREADY_EXISTS', message }] };
  return Response.json({ name: 'operation-1', status: 'DONE', error, httpErrorStatusCode: 409 });
}

describe('the VmProvider of Compute Engine, beyond the contract', () => {
  let compute: ComputeUnderTest;
  let vms: VmProvider;
  let rejection: { readonly sourceMachineImage: string; readonly status: number; readonly message: string } | null;

  let rejectionsCount = 0;
  /** Whether the server's operations never finish. */
  let isOpenEnded = false;
  /** Whether every insertion conflicts with a concurrent one for the same name. */
  let isNameTaken = false;

  beforeEach(async () => {
    rejection = null;
    rejectionsCount = 0;
    isOpenEnded = false;
    isNameTaken = false;
    compute = await openComputeUnderTest({ stopGraceMs: 500 }, (request, pass) => {
      const { method, url } = request;
      const source = new URL(url).searchParams.get('sourceMachineImage');
      if (isNameTaken && method === 'POST') {
        return asConflict(pass(request));
      }
      if (isOpenEnded && method === 'POST') {
        return asUnfinished(pass(request));
      }
      if (method !== 'POST' || rejection === null || source?.endsWith(`/${rejection.sourceMachineImage}`) !== true) {
        return undefined;
      }
      rejectionsCount += 1;
      const { status, message } = rejection;
      return Response.json({ error: { code: status, message } }, { status });
    });
    vms = createComputeVmProvider(compute.engine);
  });
  afterEach(() => compute.close());

  it('retries in a zone that was out of capacity, although the request is the same', async () => {
    const request = vmRequest(PLACE, 'waiting');
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const failures = [await vms.create(request), await vms.create(request)];
    expect(failures).toMatchObject(Array(2).fill({ failure: { cause: { code: 'STOCKOUT' } } }));
    compute.cloud.vms().setStockout(PLACE.zone, false);

    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
  });

  it.each(['e2-standard-4', 'n1-standard-4', 'a2-highgpu-1g'])(
    'creates on-demand VMs of %s with a host maintenance policy that Compute Engine accepts',
    async (machineType) => {
      const request = { ...vmRequest(PLACE, 'steady'), machineType, provisioningModel: 'STANDARD' } as const;
      expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
    },
  );

  it('finds a VM that waited for capacity in its current status', async () => {
    const request = flexStartRequest(PLACE, 'waiting');
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const pending = await vms.create(request);
    expect(pending).toMatchObject({ outcome: 'PENDING' });
    compute.cloud.vms().setStockout(PLACE.zone, false);

    await expect.poll(async () => (await vms.find(request))?.status).toBe('RUNNING');
    expect(await vms.create(request)).toEqual({ ...pending, outcome: 'CREATED' });
  });

  it('does not wait for the insertion of a pending VM to end', async () => {
    compute.cloud.vms().setStockout(PLACE.zone, true);
    isOpenEnded = true;
    const request = flexStartRequest(PLACE, 'long');

    expect(await vms.create(request)).toMatchObject({ outcome: 'PENDING' });
    expect(await vms.create(request)).toMatchObject({ outcome: 'PENDING' });
  });

  it('returns the zones with capacity that the operation recommends', async () => {
    compute.cloud.vms().setStockout(PLACE.zone, true);
    const outcome = await vms.create(vmRequest(PLACE, 'elsewhere'));
    expect(outcome).toMatchObject({ failure: { zonesAvailable: ['local1-b'] } });
  });

  it('uses another copy of the machine image if one is rate-limited, and fails if all are', async () => {
    rejection = { sourceMachineImage: 'copy', status: 403, message: RATE_EXCEEDED };
    const copies = createComputeVmProvider({
      ...compute.engine,
      images: { python: { machineImages: ['copy', 'python', 'copy'] } },
    });
    for (const name of ['burst-1', 'burst-2', 'burst-3']) {
      expect(await copies.create(vmRequest(PLACE, name))).toMatchObject({ outcome: 'CREATED' });
    }
    expect(rejectionsCount).toBeGreaterThan(0);

    rejection = { ...rejection, sourceMachineImage: 'python' };
    const limited = createComputeVmProvider({ ...compute.engine, images: { python: { machineImages: ['python'] } } });
    const outcome = await limited.create({ ...vmRequest(PLACE, 'limited'), bootDiskGib: 100 });
    expect(outcome).toMatchObject({ failure: { cause: { code: 'RATE_LIMITED' } } });
  });

  it('uses the custom image if every copy of the machine image is rate-limited', async () => {
    rejection = { sourceMachineImage: 'python', status: 403, message: RATE_EXCEEDED };
    const request = { ...vmRequest(PLACE, 'limited'), bootDiskGib: 100 };
    const created = await vms.create(request);

    expect([created.outcome, rejectionsCount]).toEqual(['CREATED', 1]);
    rejection = null;
    expect(await vms.create(request)).toEqual(created);
  });

  it('throws transient errors, so that the same request is retried', async () => {
    rejection = { sourceMachineImage: 'python', status: 503, message: 'The service is currently unavailable.' };
    const request = { ...vmRequest(PLACE, 'retried'), bootDiskGib: 100 };
    await expect(vms.create(request)).rejects.toThrow('The service is currently unavailable.');
    rejection = null;
    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
  });

  it('does not return a VM that is being deleted as created', async () => {
    const request = {
      ...vmRequest(PLACE, 'stopping'),
      metadata: { 'startup-script': "trap '' TERM; while :; do sleep 0.05; done" },
    };
    await vms.create(request);
    const deleted = vms.delete(request);
    await expect.poll(async () => (await vms.list({ jobId: 'stopping' }))[0]?.status).toBe('STOPPING');
    await expect(vms.create(request)).rejects.toThrow('is being deleted');
    expect(await deleted).toBe('GONE');
  });

  it('returns the VM that a concurrent delivery of the same request has created', async () => {
    isNameTaken = true;
    const request = vmRequest(PLACE, 'concurrent');
    const outcome = await vms.create(request);

    expect(outcome).toEqual({ outcome: 'CREATED', instanceId: (await vms.find(request))?.instanceId });
  });

  it('fails if the operation reports that the name belongs to another job’s VM', async () => {
    const request = vmRequest(PLACE, 'owner');
    await vms.create(request);
    isNameTaken = true;

    expect(await vms.create({ ...request, jobId: 'other' })).toMatchObject({
      failure: { cause: { code: 'CONFIGURATION_REFUSED', message: expect.stringContaining('already exists') } },
    });
    expect(await vms.find(request)).toMatchObject({ jobId: 'owner' });
  });

  it('lists jobs whose ids are too long for a label, and no VMs that are not Dropforge’s', async () => {
    const [one, other] = ['B', 'C'].map((end) => `${'Z'.repeat(127)}${end}`);
    await vms.create({ ...vmRequest(PLACE, 'long-b'), jobId: String(one) });
    await vms.create({ ...vmRequest(PLACE, 'long-c'), jobId: String(other) });
    const { zone } = PLACE;
    await compute.instances.insert({
      ...{ project: 'p', zone, sourceMachineImage: 'projects/p/global/machineImages/python' },
      instanceResource: {
        name: 'foreign',
        labels: { 'managed-by': 'terraform' },
        metadata: { items: [{ key: 'startup-script', value: 'sleep 300 & wait' }] },
      },
    });
    await expect.poll(() => compute.cloud.vms().listRecords().length).toBe(3);

    expect((await vms.list({ jobId: String(one) })).map(({ vmName }) => vmName)).toEqual(['df-long-b-a1-master-0']);
    expect((await vms.list()).map(({ jobId }) => jobId).sort()).toEqual([one, other]);
    expect(await compute.cloud.vms().list()).toHaveLength(2);
  });

  it('creates the VM that the request describes, as the embedded cloud records it', async () => {
    const request = {
      ...vmRequest(PLACE, 'same'),
      ...{ role: 'worker' as const, index: 7, vmName: 'df-same-a1-worker-7', jobId: 'Same_1' },
      ...{ accelerator: { type: 'nvidia-tesla-t4', count: 2 }, labels: { team: 'vision' }, bootDiskGib: 500 },
      ...{ bootDiskType: 'pd-standard' as const, reservation: { kind: 'NONE' as const } },
    };
    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });
    // The provider names the subnetwork of the deployment, for a job without one of its own.
    const subnetwork = 'projects/p/regions/local1/subnetworks/dropforge';
    expect(compute.cloud.records().map((record) => record.request)).toEqual([{ ...request, subnetwork }]);
    expect(compute.faults).toEqual([]);
  });
});
