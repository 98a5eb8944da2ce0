import { describe, expect, it } from 'vitest';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { openDoorForTests, ZONE } from '../support/embedded/compute-engine-requests.ts';

const { compute, call, insert } = openDoorForTests();

const VM = `${ZONE}/instances/vm-1`;
const BOOTED = {
  metadata: {
    items: [{ key: 'startup-script', value: 'echo booted; trap "echo saved; exit" TERM; sleep 300 & wait' }],
  },
};

/** Does it and waits for its end. */
async function act(verb: string, body: object = {}): Promise<Record<string, unknown>> {
  const { status, answer } = await call(`${VM}/${verb}`, { body });
  expect({ status, answer }).toMatchObject({ status: 200, answer: { operationType: verb } });
  return (await call(`${ZONE}/operations/${answer.name}/wait`, { method: 'POST' })).answer;
}

const statusOf = async () => (await call(VM)).answer.status;
const written = async () => (await call(`${VM}/serialPort`)).answer.contents;

describe('VMs behind the Compute Engine door', () => {
  it('are stopped with time to save, keep their disk, and start on it again', async () => {
    await insert(BOOTED);
    await expect.poll(written).toBe('booted\n');
    expect(await act('stop')).toMatchObject({ status: 'DONE' });
    expect(await statusOf()).toBe('TERMINATED');
    expect(await written()).toBe('booted\nsaved\n');
    expect(compute().cloud.interruptions()).toEqual([]);

    expect(await act('start')).toMatchObject({ status: 'DONE' });
    expect(await statusOf()).toBe('RUNNING');
    await expect.poll(written).toBe('booted\nsaved\nbooted\n');
  });

  it('are left alone where they are already what they are to be', async () => {
    await insert(BOOTED);
    await expect.poll(written).toBe('booted\n');
    await act('start');
    await act('stop');
    await act('stop');
    expect(await written()).toBe('booted\nsaved\n');
  });

  it('are not started where there is no room, and say so in the operation', async () => {
    await insert(BOOTED);
    await act('stop');
    compute().cloud.vms().setStockout(PLACE.zone, true);
    const operation = await act('start');
    compute().cloud.vms().setStockout(PLACE.zone, false);
    expect(operation).toMatchObject({ error: { errors: [{ code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS' }] } });
    expect(await statusOf()).toBe('TERMINATED');
  });

  it('boot again without warning when they are reset, which only VMs that run can be', async () => {
    await insert(BOOTED);
    await expect.poll(written).toBe('booted\n');
    await act('reset');
    await expect.poll(written).toBe('booted\nbooted\n');
    await act('stop');
    expect(await call(`${VM}/reset`, { body: {} })).toMatchObject({
      status: 400,
      answer: { error: { message: `The resource 'projects/p${VM}' is not ready` } },
    });
  });

  it('can be deleted when they are stopped', async () => {
    await insert(BOOTED);
    await act('stop');
    const { answer } = await call(VM, { method: 'DELETE' });
    await call(`${ZONE}/operations/${answer.name}/wait`, { method: 'POST' });
    expect((await call(VM)).status).toBe(404);
  });

  it('change their labels under their fingerprint alone', async () => {
    await insert({ ...BOOTED, labels: { team: 'vision' } });
    const { labelFingerprint } = (await call(VM)).answer;
    const body = { labels: { team: 'speech', phase: 'two' }, labelFingerprint };
    await act('setLabels', body);
    expect((await call(VM)).answer.labels).toEqual({ team: 'speech', phase: 'two' });
    expect(await call(`${VM}/setLabels`, { body })).toMatchObject({ status: 412 });
    expect(await call(`${VM}/setLabels`, { body: { labels: {} } })).toMatchObject({ status: 400 });
  });

  it('belong to the job that their labels name, and to none when those are taken off', async () => {
    const { cloud } = compute();
    await cloud.vms().create({ ...vmRequest(PLACE, 'Own'), vmName: 'vm-1' });
    const { labelFingerprint, labels } = (await call(VM)).answer as Record<string, object>;
    await act('setLabels', { labels: { ...labels, team: 'vision' }, labelFingerprint });
    expect(await cloud.vms().list({ jobId: 'Own' })).toMatchObject([{ vmName: 'vm-1' }]);

    await act('setLabels', { labels: {}, labelFingerprint: (await call(VM)).answer.labelFingerprint });
    expect(await cloud.vms().list()).toEqual([]);
  });

  it('cannot be suspended, and are told what is offered', async () => {
    await insert(BOOTED);
    expect(await call(`${VM}/suspend`, { body: {} })).toMatchObject({
      status: 405,
      answer: {
        error: { message: expect.stringMatching(/^The embedded cloud does not support suspend\. .* stop, start/) },
      },
    });
  });

  it('have a boot disk each, that says whose it is', async () => {
    await insert({ disks: [{ initializeParams: { diskSizeGb: '50' } }] });
    const disk = { kind: 'compute#disk', name: 'vm-1', sizeGb: '50', users: [expect.stringMatching(`${VM}$`)] };
    expect((await call(`${ZONE}/disks`)).answer).toMatchObject({ items: [disk] });
    expect((await call(`${ZONE}/disks/vm-1`)).answer).toMatchObject(disk);
    expect((await call('/aggregated/disks')).answer).toMatchObject({
      items: { 'zones/local1-a': { disks: [disk] }, 'zones/local1-b': { warning: { code: 'NO_RESULTS_ON_PAGE' } } },
    });
    expect(await call(`${ZONE}/disks/none`)).toMatchObject({ status: 404 });
  });
});
