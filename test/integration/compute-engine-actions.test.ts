import { describe, expect, it } from 'vitest';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { openComputeEngineForAllTests, ZONE } from '../support/embedded/compute-engine-requests.ts';

const { compute, call, insert } = openComputeEngineForAllTests();

const VM = `${ZONE}/instances/vm-1`;
const BOOTED = {
  metadata: {
    items: [{ key: 'startup-script', value: 'echo booted; trap "echo saved; exit" TERM; sleep 300 & wait' }],
  },
};

/** Performs the action and waits for its operation. */
async function act(verb: string, body: object = {}): Promise<Record<string, unknown>> {
  const { status, json } = await call(`${VM}/${verb}`, { body });
  expect({ status, json }).toMatchObject({ status: 200, json: { operationType: verb } });
  return (await call(`${ZONE}/operations/${json.name}/wait`, { method: 'POST' })).json;
}

const statusOf = async () => (await call(VM)).json.status;
const written = async () => (await call(`${VM}/serialPort`)).json.contents;

describe('VMs of the Compute Engine emulator', () => {
  it('stop with a grace period, keep their disk and start on it again', async () => {
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

  it('are not changed by an action whose target state they are in', async () => {
    await insert(BOOTED);
    await expect.poll(written).toBe('booted\n');
    await act('start');
    await act('stop');
    await act('stop');
    expect(await written()).toBe('booted\nsaved\n');
  });

  it('are not started without capacity, and the operation has the error', async () => {
    await insert(BOOTED);
    await act('stop');
    compute().cloud.vms().setStockout(PLACE.zone, true);
    const operation = await act('start');
    compute().cloud.vms().setStockout(PLACE.zone, false);
    expect(operation).toMatchObject({ error: { errors: [{ code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS' }] } });
    expect(await statusOf()).toBe('TERMINATED');
  });

  it('reboot without notice on reset, which is for running VMs only', async () => {
    await insert(BOOTED);
    await expect.poll(written).toBe('booted\n');
    await act('reset');
    await expect.poll(written).toBe('booted\nbooted\n');
    await act('stop');
    expect(await call(`${VM}/reset`, { body: {} })).toMatchObject({
      status: 400,
      json: { error: { message: `The resource 'projects/p${VM}' is not ready` } },
    });
  });

  it('can be deleted while stopped', async () => {
    await insert(BOOTED);
    await act('stop');
    const { json } = await call(VM, { method: 'DELETE' });
    await call(`${ZONE}/operations/${json.name}/wait`, { method: 'POST' });
    expect((await call(VM)).status).toBe(404);
  });

  it('change their labels only with the current fingerprint', async () => {
    await insert({ ...BOOTED, labels: { team: 'vision' } });
    const { labelFingerprint } = (await call(VM)).json;
    const body = { labels: { team: 'speech', phase: 'two' }, labelFingerprint };
    await act('setLabels', body);
    expect((await call(VM)).json.labels).toEqual({ team: 'speech', phase: 'two' });
    expect(await call(`${VM}/setLabels`, { body })).toMatchObject({ status: 412 });
    expect(await call(`${VM}/setLabels`, { body: { labels: {} } })).toMatchObject({ status: 400 });
  });

  it('belong to the job named by their labels, and to none after the labels are removed', async () => {
    const { cloud } = compute();
    await cloud.vms().create({ ...vmRequest(PLACE, 'Own'), vmName: 'vm-1' });
    const { labelFingerprint, labels } = (await call(VM)).json as Record<string, object>;
    await act('setLabels', { labels: { ...labels, team: 'vision' }, labelFingerprint });
    expect(await cloud.vms().list({ jobId: 'Own' })).toMatchObject([{ vmName: 'vm-1' }]);

    await act('setLabels', { labels: {}, labelFingerprint: (await call(VM)).json.labelFingerprint });
    expect(await cloud.vms().list()).toEqual([]);
  });

  it('cannot be suspended; the error names the supported actions', async () => {
    await insert(BOOTED);
    expect(await call(`${VM}/suspend`, { body: {} })).toMatchObject({
      status: 405,
      json: {
        error: { message: expect.stringMatching(/^The embedded cloud does not support suspend\. .* stop, start/) },
      },
    });
  });

  it('have one boot disk each, with the VM as its user', async () => {
    await insert({ disks: [{ initializeParams: { diskSizeGb: '50' } }] });
    const disk = { kind: 'compute#disk', name: 'vm-1', sizeGb: '50', users: [expect.stringMatching(`${VM}$`)] };
    expect((await call(`${ZONE}/disks`)).json).toMatchObject({ items: [disk] });
    expect((await call(`${ZONE}/disks/vm-1`)).json).toMatchObject(disk);
    expect((await call('/aggregated/disks')).json).toMatchObject({
      items: { 'zones/local1-a': { disks: [disk] }, 'zones/local1-b': { warning: { code: 'NO_RESULTS_ON_PAGE' } } },
    });
    expect(await call(`${ZONE}/disks/none`)).toMatchObject({ status: 404 });
  });
});
