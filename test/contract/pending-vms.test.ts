import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openVmCloudUnderTest, PLACE, type VmCloudUnderTest } from '../support/contract/vm-cloud-under-test.ts';
import { patientRequest } from './vm-provider.contract.ts';

const NARROW = { zones: [{ name: PLACE.zone, vmsMax: 1 }] };

describe('VMs of the embedded cloud that wait for capacity', () => {
  let cloud: VmCloudUnderTest;

  beforeEach(async () => {
    cloud = await openVmCloudUnderTest(NARROW);
  });
  afterEach(() => cloud.destroy());

  const ask = (name: string, capacityWaitSeconds = 90) =>
    cloud.vms().create({ ...patientRequest(PLACE, name), capacityWaitSeconds });
  const leave = (name: string) => cloud.vms().delete(patientRequest(PLACE, name));

  it('start when there is room, in the order in which they came, and take none before', async () => {
    await ask('first');
    await ask('second');
    await ask('third');
    expect(cloud.vms().listZones()).toMatchObject([{ vms: 1, vmsMax: 1 }]);
    expect(await Promise.all(['second', 'third'].map(cloud.statusOf))).toEqual(['PENDING', 'PENDING']);

    await leave('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');
    expect(await cloud.statusOf('third')).toBe('PENDING');
  });

  it('live as long as they were asked to from when they started, and not from when they began to wait', async () => {
    await ask('first');
    await ask('second');
    const [, waiting] = cloud.records();
    expect(Number(waiting?.deleteAt) - Number(waiting?.createdAt)).toBe(90_000);
    const leftAt = Date.now();
    await leave('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');

    expect(cloud.records()[0]?.deleteAt).toBeGreaterThanOrEqual(leftAt + 600_000);
  });

  it('are gone when their time of waiting is over', async () => {
    await ask('first');
    expect(await ask('hasty', 1)).toMatchObject({ outcome: 'PENDING' });

    await expect.poll(() => cloud.statusOf('hasty')).toBe('');
    expect(cloud.interruptions()).toEqual([]);
  });

  it('wait on when the cloud is started again', async () => {
    await ask('first');
    await ask('second');
    await cloud.reopen();
    expect(await cloud.statusOf('second')).toBe('PENDING');

    await leave('first');
    await expect.poll(() => cloud.statusOf('second')).toBe('RUNNING');
  });

  it('wait on when the cloud died just as it was starting one', async () => {
    await ask('unborn');
    await cloud.vms().hostError(patientRequest(PLACE, 'unborn').vmName);
    await cloud.reopen(() => ({ leader: null, status: 'STARTING' }));

    await expect.poll(() => cloud.statusOf('unborn')).toBe('RUNNING');
  });

  it('are given up at once when nobody wants them any more', async () => {
    await ask('first');
    await ask('second');
    expect(await leave('second')).toBe('GONE');
    expect(await cloud.statusOf('second')).toBe('');
  });
});
