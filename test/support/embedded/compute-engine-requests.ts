import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { PLACE } from '../contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../google-cloud/compute-under-test.ts';

export const ZONE = `/zones/${PLACE.zone}`;
export const BODY = {
  name: 'vm-1',
  machineType: `zones/${PLACE.zone}/machineTypes/n1-standard-4`,
  metadata: { items: [{ key: 'startup-script', value: 'echo hello; sleep 300 & wait' }] },
  sourceMachineImage: 'global/machineImages/python',
};

/** Opens a Compute Engine emulator for all tests of a file, each starting without VMs; returns helpers for requests. */
export function openComputeEngineForAllTests() {
  let opened: ComputeUnderTest;
  const compute = () => opened;

  beforeAll(async () => {
    opened = await openComputeUnderTest();
  });
  afterAll(() => opened.close());
  afterEach(async () => {
    const vms = opened.cloud.vms();
    await Promise.all(vms.listRecords().map(({ request }) => vms.delete(request)));
    expect(opened.faults).toEqual([]);
  });

  async function call(path: string, init: { readonly method?: string; readonly body?: unknown } = {}) {
    const { method = init.body === undefined ? 'GET' : 'POST', body } = init;
    const response = await fetch(`${compute().origin}/compute/v1/projects/p${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  /** Creates a VM and waits for the operation. */
  async function insert(change: object = {}, query = ''): Promise<Record<string, unknown>> {
    const { json } = await call(`${ZONE}/instances${query}`, { body: { ...BODY, ...change } });
    expect(json).toMatchObject({ kind: 'compute#operation', operationType: 'insert' });
    return (await call(`${ZONE}/operations/${json.name}/wait`, { method: 'POST' })).json;
  }

  return { compute, call, insert };
}
