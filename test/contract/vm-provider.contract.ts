import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VmProvider, VmRequest } from '../../shared/ports/vm-provider.ts';

export type VmProviderHarness = {
  readonly vms: VmProvider;
  /** Has room for four VMs at least. */
  readonly zone: string;
  /** Exists and never has room. */
  readonly fullZone: string;
  readonly machineImage: string;
  close(): Promise<void>;
};

/** A VM that waits to be stopped; `name` tells apart the VMs of one test run. */
export function vmRequest(harness: Pick<VmProviderHarness, 'zone' | 'machineImage'>, name: string): VmRequest {
  return {
    role: 'master',
    index: 0,
    vmName: `df-${name}-a1-master-0`,
    zone: harness.zone,
    jobId: name,
    attempt: 1,
    machineType: 'n1-standard-4',
    accelerator: null,
    provisioningModel: 'SPOT',
    machineImage: harness.machineImage,
    bootDiskGib: 50,
    bootDiskType: 'pd-ssd',
    reservation: null,
    labels: {},
    capacityWaitSeconds: null,
    maxRunSeconds: 600,
    metadata: { 'startup-script': 'sleep 300 & wait' },
  };
}

/** The same, waiting for capacity where there is none. */
export function patientRequest(harness: Pick<VmProviderHarness, 'zone' | 'machineImage'>, name: string): VmRequest {
  return {
    ...vmRequest(harness, name),
    machineType: 'a2-highgpu-1g',
    provisioningModel: 'FLEX_START',
    capacityWaitSeconds: 90,
  };
}

/** What the pipeline relies on, whatever the cloud. */
export function describeVmProviderContract(name: string, open: () => Promise<VmProviderHarness>): void {
  describe(`the VmProvider of ${name}`, () => {
    let harness: VmProviderHarness;

    beforeAll(async () => {
      harness = await open();
    });
    afterAll(() => harness.close());

    const untilGone = (vm: { readonly vmName: string; readonly zone: string }) =>
      expect.poll(() => harness.vms.delete(vm)).toBe('GONE');

    it('creates a VM once, however often and however concurrently the same request is met', async () => {
      const request = vmRequest(harness, 'twice');
      const outcomes = [...(await Promise.all([harness.vms.create(request), harness.vms.create(request)]))];
      outcomes.push(await harness.vms.create(request));

      const [first] = outcomes;
      expect(first).toEqual({ outcome: 'CREATED', instanceId: expect.stringMatching(/^\d+$/) });
      expect(outcomes).toEqual([first, first, first]);
      expect(await harness.vms.list({ jobId: 'twice' })).toHaveLength(1);
      await untilGone(request);
    });

    it('lists a VM with its instance id, its place and what its labels say', async () => {
      const request = { ...vmRequest(harness, 'Labels_1'), vmName: 'df-labels-1-a3-worker-0', attempt: 3 };
      const created = await harness.vms.create(request);

      const instanceId = created.outcome === 'CREATED' ? created.instanceId : undefined;
      const { vmName, zone } = request;
      const listed = { vmName, zone, instanceId, jobId: 'Labels_1', attempt: 3, status: 'RUNNING' };
      expect(await harness.vms.list({ jobId: 'Labels_1' })).toEqual([listed]);
      await untilGone(request);
    });

    it('finds a VM by its name and zone, and nothing where there is none', async () => {
      const request = vmRequest(harness, 'found');
      await harness.vms.create(request);

      expect([await harness.vms.find(request)]).toEqual(await harness.vms.list({ jobId: 'found' }));
      expect(await harness.vms.find({ ...request, zone: harness.fullZone })).toBeUndefined();
      await untilGone(request);
      expect(await harness.vms.find(request)).toBeUndefined();
    });

    it('lets a request wait for capacity that asks for it, and does not take its second coming for another', async () => {
      const request = { ...patientRequest(harness, 'patient'), zone: harness.fullZone };
      const outcomes = [await harness.vms.create(request), await harness.vms.create(request)];

      const instanceId = outcomes[0]?.outcome === 'PENDING' ? outcomes[0].instanceId : undefined;
      expect(outcomes).toEqual(Array(2).fill({ outcome: 'PENDING', instanceId: expect.stringMatching(/^\d+$/) }));
      expect(await harness.vms.find(request)).toMatchObject({ status: 'PENDING', instanceId });
      expect(await harness.vms.list({ jobId: 'patient' })).toMatchObject([{ status: 'PENDING', instanceId }]);
      await untilGone(request);
    });

    it('makes a VM at once that could have waited', async () => {
      const request = patientRequest(harness, 'lucky');
      const created = await harness.vms.create(request);

      expect(created).toMatchObject({ outcome: 'CREATED' });
      expect(await harness.vms.find(request)).toMatchObject({ status: 'RUNNING' });
      await untilGone(request);
    });

    it('lists the VMs of one job alone when asked so, otherwise those of all', async () => {
      const requests = [vmRequest(harness, 'one'), vmRequest(harness, 'other')];
      await Promise.all(requests.map((request) => harness.vms.create(request)));

      expect((await harness.vms.list({ jobId: 'one' })).map(({ jobId }) => jobId)).toEqual(['one']);
      expect((await harness.vms.list()).map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(['one', 'other']));
      await Promise.all(requests.map(untilGone));
      expect(await harness.vms.list({ jobId: 'one' })).toEqual([]);
    });

    it('deletes a VM once, however often and however concurrently it is asked to', async () => {
      const request = vmRequest(harness, 'deleted');
      await harness.vms.create(request);

      await Promise.all([untilGone(request), untilGone(request)]);
      expect(await harness.vms.delete(request)).toBe('GONE');
      expect(await harness.vms.list({ jobId: 'deleted' })).toEqual([]);
    });

    it('answers GONE for a VM that never was', async () => {
      expect(await harness.vms.delete({ vmName: 'df-never-a1-master-0', zone: harness.zone })).toBe('GONE');
    });

    it('gives a VM that is created again after its deletion another instance id', async () => {
      const request = vmRequest(harness, 'again');
      const first = await harness.vms.create(request);
      await untilGone(request);
      const second = await harness.vms.create(request);

      expect(second.outcome).toBe('CREATED');
      expect(second).not.toEqual(first);
      await untilGone(request);
    });

    it('refuses a zone without room as a stockout, and leaves nothing behind', async () => {
      const request = { ...vmRequest(harness, 'stockout'), zone: harness.fullZone };
      const outcome = await harness.vms.create(request);

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'STOCKOUT' } } });
      expect(await harness.vms.list({ jobId: 'stockout' })).toEqual([]);
    });

    it.each([
      ['a machine image that does not exist', { machineImage: 'no-such-image' }],
      ['a zone that does not exist', { zone: 'nowhere-east1-a' }],
      ['a name that is none', { vmName: 'Not_A_Name' }],
      ['a metadata value over 256 KiB', { metadata: { 'startup-script': `# ${'x'.repeat(262_144)}` } }],
    ])('refuses %s as a fault of configuration', async (_, change) => {
      const outcome = await harness.vms.create({ ...vmRequest(harness, 'wrong'), ...change });

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'CONFIGURATION_REFUSED' } } });
      expect(await harness.vms.list({ jobId: 'wrong' })).toEqual([]);
    });

    it("refuses a name that another job's VM bears", async () => {
      const request = vmRequest(harness, 'owner');
      await harness.vms.create(request);
      const outcome = await harness.vms.create({ ...request, jobId: 'stranger' });

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'CONFIGURATION_REFUSED' } } });
      await untilGone(request);
    });
  });
}
