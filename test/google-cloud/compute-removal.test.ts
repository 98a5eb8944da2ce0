import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/database.ts';
import { openSqliteJobStore } from '#infra/embedded/jobs/sqlite-job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/jobs/sqlite-replica-store.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute/compute-vm-provider.ts';
import { DEADLINES } from '#shared/domain/deadlines.ts';
import { sweep } from '#shared/pipeline/teardown.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import { PLACE } from '../contract/vm-cloud-under-test.ts';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { type ComputeUnderTest, openComputeUnderTest } from './compute-under-test.ts';

describe('removing VMs of Compute Engine', () => {
  let compute: ComputeUnderTest;
  let vms: VmProvider;
  let database: Database;
  /** What the service answers to a wait for an operation, in the door's place. */
  let answerToWait: (() => Response | Promise<Response>) | null;
  let waitsCount: number;

  beforeEach(async () => {
    answerToWait = null;
    waitsCount = 0;
    database = openDatabase(':memory:');
    compute = await openComputeUnderTest({}, ({ url }) => {
      const isWait = new URL(url).pathname.endsWith('/wait');
      waitsCount += isWait ? 1 : 0;
      return isWait ? answerToWait?.() : undefined;
    });
    vms = createComputeVmProvider(compute.engine);
  });
  afterEach(async () => {
    database.close();
    await compute.close();
  });

  it('waits for a deletion, so that whoever closes a job need not ask again', async () => {
    const request = vmRequest(PLACE, 'obedient');
    await vms.create(request);
    expect(await vms.delete(request)).toBe('GONE');
  });

  it.each([
    [404, "The resource 'projects/p/zones/local1-a/operations/o' was not found"],
    [504, 'The deadline has passed.'],
  ])('asks for the VM itself where the wait is answered with %i', async (status, message) => {
    const request = vmRequest(PLACE, 'unheard');
    await vms.create(request);
    answerToWait = () => refuse(status, message);

    expect(await vms.delete(request)).toMatch(/^(DELETING|GONE)$/);
    await expect.poll(() => vms.delete(request)).toBe('GONE');
  });

  it.each([
    [403, "Required 'compute.zoneOperations.get' permission for 'projects/p/zones/local1-a/operations/o'"],
    [500, 'Internal error.'],
  ])('throws where the wait is answered with %i: nobody would mend what nobody hears', async (status, message) => {
    const request = vmRequest(PLACE, 'forbidden');
    await vms.create(request);
    answerToWait = () => refuse(status, message);

    await expect(vms.delete(request)).rejects.toThrow(message);
    answerToWait = null;
    await expect.poll(() => vms.delete(request)).toBe('GONE');
  });

  it('deletes every orphan in one sweep, however long each of them takes to go', async () => {
    const names = ['orphan-1', 'orphan-2', 'orphan-3'];
    for (const name of names) {
      await vms.create(vmRequest(PLACE, name));
    }
    const before = waitsCount;
    await sweep({ ...portsOn(database), vms }, Date.now());

    expect(waitsCount).toBe(before);
    await expect.poll(() => vms.list()).toEqual([]);
  });
});

function refuse(status: number, message: string): Response {
  return Response.json({ error: { code: status, message } }, { status });
}

function portsOn(database: Database) {
  return {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    bus: { publish: async () => 'id' },
    deadlines: DEADLINES,
  };
}
