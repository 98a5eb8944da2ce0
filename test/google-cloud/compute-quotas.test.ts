import { afterEach, describe, expect, it } from 'vitest';
import type { Quota } from '#infra/embedded/compute-engine/quotas.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../support/google-cloud/compute-under-test.ts';

let compute: ComputeUnderTest;

async function openWith(...quotas: readonly Quota[]) {
  compute = await openComputeUnderTest({ stopGraceMs: 100 }, () => undefined, quotas);
  return createComputeVmProvider(compute.engine);
}

function gpuRequest(name: string, change: Partial<VmRequest> = {}): VmRequest {
  const accelerator = { type: 'nvidia-tesla-t4', count: 2 };
  return { ...vmRequest(PLACE, name), provisioningModel: 'STANDARD', accelerator, ...change };
}

const T4 = { metric: 'NVIDIA_T4_GPUS', region: 'local1', limit: 3 };

describe('a quota of the embedded Compute Engine', () => {
  afterEach(() => compute.close());

  it('is exceeded as on Google Cloud, by an operation that names metric, limit and region', async () => {
    await openWith({ metric: 'GPUS_PER_GPU_FAMILY', family: 'NVIDIA_H100', region: 'local1', limit: 0 }, T4);
    const path = `${compute.origin}/compute/v1/projects/p/zones/${PLACE.zone}`;
    const body = {
      name: 'vm-1',
      sourceMachineImage: 'global/machineImages/python',
      guestAccelerators: [{ acceleratorType: 'nvidia-tesla-t4', acceleratorCount: 4 }],
      scheduling: { onHostMaintenance: 'TERMINATE' },
    };
    const started = await fetch(`${path}/instances`, { method: 'POST', body: JSON.stringify(body) });
    const { name } = (await started.json()) as { readonly name: string };
    const done = await fetch(`${path}/operations/${name}/wait`, { method: 'POST' });

    expect(await done.json()).toMatchObject({
      status: 'DONE',
      httpErrorStatusCode: 403,
      httpErrorMessage: 'FORBIDDEN',
      error: {
        errors: [
          {
            code: 'QUOTA_EXCEEDED',
            message: "Quota 'NVIDIA_T4_GPUS' exceeded.  Limit: 3.0 in region local1.",
            errorDetails: [
              {
                quotaInfo: {
                  metricName: 'compute.googleapis.com/nvidia_t4_gpus',
                  limitName: 'NVIDIA-T4-GPUS-per-project-region',
                  dimensions: { region: 'local1' },
                  limit: 3,
                },
              },
            ],
          },
        ],
      },
    });
  });

  it('is returned with its limit, and applies to concurrent requests together and to all zones of its region', async () => {
    const vms = await openWith(T4);
    const [first, second] = [gpuRequest('first'), gpuRequest('second', { zone: 'local1-b' })];
    const outcomes = await Promise.all([vms.create(first), vms.create(second)]);

    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['CREATED', 'FAILED']);
    expect(outcomes).toContainEqual({
      outcome: 'FAILED',
      failure: expect.objectContaining({
        cause: expect.objectContaining({ code: 'QUOTA_EXCEEDED' }),
        quota: { metric: 'NVIDIA_T4_GPUS', family: null, limit: 3, scope: 'REGION' },
      }),
    });
  });

  it('does not reject the repetition of a request, and is available again after a deletion', async () => {
    const vms = await openWith({ metric: 'GPUS_ALL_REGIONS', limit: 2 });
    const first = gpuRequest('first');
    const created = await vms.create(first);
    expect(await vms.create(first)).toEqual(created);
    expect(await vms.create(gpuRequest('second'))).toMatchObject({
      failure: { quota: { metric: 'GPUS_ALL_REGIONS', limit: 2, scope: 'PROJECT' } },
    });
    await expect.poll(() => vms.delete(first)).toBe('GONE');
    expect(await vms.create(gpuRequest('third'))).toMatchObject({ outcome: 'CREATED' });
  });

  it('counts Spot VMs only if it is one of preemptible resources', async () => {
    const vms = await openWith({ metric: 'PREEMPTIBLE_NVIDIA_T4_GPUS', region: 'local1', limit: 2 });
    expect(await vms.create(gpuRequest('standard'))).toMatchObject({ outcome: 'CREATED' });
    expect(await vms.create(gpuRequest('spot', { provisioningModel: 'SPOT' }))).toMatchObject({ outcome: 'CREATED' });
    expect(await vms.create(gpuRequest('more', { provisioningModel: 'SPOT' }))).toMatchObject({ outcome: 'FAILED' });
  });
});
