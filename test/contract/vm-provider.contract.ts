import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VmProvider, VmRequest } from '../../shared/ports/vm-provider.ts';

export type VmProviderHarness = {
  readonly vms: VmProvider;
  /** Has capacity for at least four VMs. */
  readonly zone: string;
  /** Exists and never has capacity. */
  readonly fullZone: string;
  readonly machineImage: string;
  setUnreachable(zone: string, isUnreachable: boolean): void;
  close(): Promise<void>;
};

/** A VM that runs until it is stopped; `name` is unique within a test run. */
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
    ...{ serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null },
    labels: {},
    capacityWaitSeconds: null,
    maxRunSeconds: 600,
    metadata: { 'startup-script': 'sleep 300 & wait' },
  };
}

/** A VM that waits for capacity that never becomes available. */
export function flexStartRequest(harness: Pick<VmProviderHarness, 'zone' | 'machineImage'>, name: string): VmRequest {
  return {
    ...vmRequest(harness, name),
    machineType: 'a2-highgpu-1g',
    provisioningModel: 'FLEX_START',
    capacityWaitSeconds: 90,
  };
}

/** The contract of every VmProvider. */
export function describeVmProviderContract(name: string, open: () => Promise<VmProviderHarness>): void {
  describe(`the VmProvider of ${name}`, () => {
    let harness: VmProviderHarness;

    beforeAll(async () => {
      harness = await open();
    });
    afterAll(() => harness.close());
    afterEach(() => {
      for (const zone of [harness.zone, harness.fullZone]) {
        harness.setUnreachable(zone, false);
      }
    });

    const untilGone = (vm: { readonly vmName: string; readonly zone: string }) =>
      expect.poll(() => harness.vms.delete(vm)).toBe('GONE');

    it('creates a VM once for repeated and concurrent equal requests', async () => {
      const request = vmRequest(harness, 'twice');
      const outcomes = [...(await Promise.all([harness.vms.create(request), harness.vms.create(request)]))];
      outcomes.push(await harness.vms.create(request));

      const [first] = outcomes;
      expect(first).toEqual({ outcome: 'CREATED', instanceId: expect.stringMatching(/^\d+$/) });
      expect(outcomes).toEqual([first, first, first]);
      expect(await harness.vms.list({ jobId: 'twice' })).toHaveLength(1);
      await untilGone(request);
    });

    it('lists a VM with its instance id, zone and labels', async () => {
      const request = { ...vmRequest(harness, 'Labels_1'), vmName: 'df-labels-1-a3-worker-0', attempt: 3 };
      const created = await harness.vms.create(request);

      const instanceId = created.outcome === 'CREATED' ? created.instanceId : undefined;
      const { vmName, zone } = request;
      const listed = { vmName, zone, instanceId, jobId: 'Labels_1', attempt: 3, status: 'RUNNING' };
      expect(await harness.vms.list({ jobId: 'Labels_1' })).toEqual([listed]);
      await untilGone(request);
    });

    it('finds a VM by name and zone, and returns undefined if there is none', async () => {
      const request = vmRequest(harness, 'found');
      await harness.vms.create(request);

      expect([await harness.vms.find(request)]).toEqual(await harness.vms.list({ jobId: 'found' }));
      expect(await harness.vms.find({ ...request, zone: harness.fullZone })).toBeUndefined();
      await untilGone(request);
      expect(await harness.vms.find(request)).toBeUndefined();
    });

    it('queues a request that may wait for capacity, once if it is repeated', async () => {
      const request = { ...flexStartRequest(harness, 'waiting'), zone: harness.fullZone };
      const outcomes = [await harness.vms.create(request), await harness.vms.create(request)];

      const instanceId = outcomes[0]?.outcome === 'PENDING' ? outcomes[0].instanceId : undefined;
      expect(outcomes).toEqual(Array(2).fill({ outcome: 'PENDING', instanceId: expect.stringMatching(/^\d+$/) }));
      expect(await harness.vms.find(request)).toMatchObject({ status: 'PENDING', instanceId });
      expect(await harness.vms.list({ jobId: 'waiting' })).toMatchObject([{ status: 'PENDING', instanceId }]);
      await untilGone(request);
    });

    it('creates a VM at once if there is capacity, even if it could have waited', async () => {
      const request = flexStartRequest(harness, 'lucky');
      const created = await harness.vms.create(request);

      expect(created).toMatchObject({ outcome: 'CREATED' });
      expect(await harness.vms.find(request)).toMatchObject({ status: 'RUNNING' });
      await untilGone(request);
    });

    it('lists the VMs of one job or of all jobs', async () => {
      const requests = [vmRequest(harness, 'one'), vmRequest(harness, 'other')];
      await Promise.all(requests.map((request) => harness.vms.create(request)));

      expect((await harness.vms.list({ jobId: 'one' })).map(({ jobId }) => jobId)).toEqual(['one']);
      expect((await harness.vms.list()).map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(['one', 'other']));
      await Promise.all(requests.map(untilGone));
      expect(await harness.vms.list({ jobId: 'one' })).toEqual([]);
    });

    it('does not conclude from an unreachable zone that its VMs are gone', async () => {
      const request = vmRequest(harness, 'isolated');
      await harness.vms.create(request);
      harness.setUnreachable(harness.fullZone, true);
      await expect(harness.vms.list({ jobId: 'isolated' })).rejects.toMatchObject({
        zones: [harness.fullZone],
        seen: [{ jobId: 'isolated' }],
      });
      harness.setUnreachable(harness.fullZone, false);
      harness.setUnreachable(harness.zone, true);
      await expect(harness.vms.list()).rejects.toMatchObject({ zones: [harness.zone], seen: [] });
      await expect(harness.vms.delete(request)).rejects.toThrow(/could not be reached|unreachable/);
      harness.setUnreachable(harness.zone, false);

      expect(await harness.vms.list({ jobId: 'isolated' })).toHaveLength(1);
      await untilGone(request);
    });

    it('deletes a VM once for repeated and concurrent requests', async () => {
      const request = vmRequest(harness, 'deleted');
      await harness.vms.create(request);

      await Promise.all([untilGone(request), untilGone(request)]);
      expect(await harness.vms.delete(request)).toBe('GONE');
      expect(await harness.vms.list({ jobId: 'deleted' })).toEqual([]);
    });

    it('returns GONE for a VM that never existed', async () => {
      expect(await harness.vms.delete({ vmName: 'df-never-a1-master-0', zone: harness.zone })).toBe('GONE');
    });

    it('assigns a new instance id to a VM that is created again', async () => {
      const request = vmRequest(harness, 'again');
      const first = await harness.vms.create(request);
      await untilGone(request);
      const second = await harness.vms.create(request);

      expect(second.outcome).toBe('CREATED');
      expect(second).not.toEqual(first);
      await untilGone(request);
    });

    it('fails with a stockout in a zone without capacity, and leaves nothing behind', async () => {
      const request = { ...vmRequest(harness, 'stockout'), zone: harness.fullZone };
      const outcome = await harness.vms.create(request);

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'STOCKOUT' } } });
      expect(await harness.vms.list({ jobId: 'stockout' })).toEqual([]);
    });

    it.each([
      ['a machine image that does not exist', { machineImage: 'no-such-image' }],
      ['a zone that does not exist', { zone: 'nowhere-east1-a' }],
      ['an invalid name', { vmName: 'Not_A_Name' }],
      ['a metadata value over 256 KiB', { metadata: { 'startup-script': `# ${'x'.repeat(262_144)}` } }],
    ])('rejects %s as a configuration error', async (_, change) => {
      const outcome = await harness.vms.create({ ...vmRequest(harness, 'wrong'), ...change });

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'CONFIGURATION_REFUSED' } } });
      expect(await harness.vms.list({ jobId: 'wrong' })).toEqual([]);
    });

    it("rejects the name of another job's VM", async () => {
      const request = vmRequest(harness, 'owner');
      await harness.vms.create(request);
      const outcome = await harness.vms.create({ ...request, jobId: 'stranger' });

      expect(outcome).toMatchObject({ outcome: 'FAILED', failure: { cause: { code: 'CONFIGURATION_REFUSED' } } });
      await untilGone(request);
    });
  });
}
