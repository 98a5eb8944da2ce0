import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openVmCloudUnderTest, PLACE, type VmCloudUnderTest } from '../support/contract/vm-cloud-under-test.ts';
import { flexStartRequest } from './vm-provider.contract.ts';

const NARROW = { zones: [{ name: PLACE.zone, vmsMax: 1 }] };

describe('VMs of the embedded cloud that wait for capacity', () => {
  let cloud: VmCloudUnderTest;

  beforeEach(async () => {
    cloud = await openVmCloudUnderTest(NARROW);
  });
  afterEach(() => cloud.destroy());

  const request = (name: string, capacityWaitSeconds = 90) =>
    cloud.vms().create({ ...flexStartRequest(PLACE, name), capacityWaitSeconds });
  const remove = (name: string) => cloud.vms().delete(flexStartRequest(PLACE, name));

  it('start when there is capacity, in the order of their requests, and use none before', async () => {
    await request('first');
    await request('second');
    await request('third');
    const statuses = await Promise.all(['first', 'second', 'third'].map(cloud.statusOf));
    expect(statuses).toEqual(['RUNNING', 'PENDING', 'PENDING']);

    await remove('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');
    expect(await cloud.statusOf('third')).toBe('PENDING');
  });

  it('count their maximum run time from their start, not from their request', async () => {
    await request('first');
    await request('second');
    const [, waiting] = cloud.records();
    expect(Number(waiting?.deleteAt) - Number(waiting?.createdAt)).toBe(90_000);
    const leftAt = Date.now();
    await remove('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');

    expect(cloud.records()[0]?.deleteAt).toBeGreaterThanOrEqual(leftAt + 600_000);
  });

  it('are deleted at the end of their wait', async () => {
    await request('first');
    expect(await request('hasty', 1)).toMatchObject({ outcome: 'PENDING' });

    await expect.poll(() => cloud.statusOf('hasty')).toBe('');
    expect(cloud.interruptions()).toEqual([]);
  });

  it('keep waiting after a restart of the cloud', async () => {
    await request('first');
    await request('second');
    await cloud.reopen();
    expect(await cloud.statusOf('second')).toBe('PENDING');

    await remove('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');
  });

  it('keep waiting if the cloud crashed while starting one', async () => {
    await request('unborn');
    await cloud.vms().hostError(flexStartRequest(PLACE, 'unborn').vmName);
    await cloud.reopen(() => ({ leader: null, status: 'STARTING' }));

    await expect.poll(() => cloud.statusOf('unborn')).toBe('RUNNING');
  });

  it('are deleted immediately on request', async () => {
    await request('first');
    await request('second');
    expect(await remove('second')).toBe('GONE');
    expect(await cloud.statusOf('second')).toBe('');
  });
});
