import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { sweep, teardown } from '#shared/use-cases/teardown/teardown.ts';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { simulatedJob } from '../simulation/simulated-job.ts';
import { noLog } from '../support/collected-log.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../support/google-cloud/compute-under-test.ts';
import { noUpdates } from '../support/use-cases/updates.ts';

const OTHER_ZONE = 'local1-b';

describe('deleting VMs of Compute Engine', () => {
  let compute: ComputeUnderTest;
  let vms: VmProvider;
  let database: Database;
  /** Replaces the server's response to a wait for an operation. */
  let respondToWait: (() => Response | Promise<Response>) | null;
  let waitsCount: number;
  /** Replaces the server's response to an aggregated list. */
  let respondToList: (() => Response) | null;

  beforeEach(async () => {
    respondToWait = null;
    respondToList = null;
    waitsCount = 0;
    database = openDatabase(':memory:');
    compute = await openComputeUnderTest({}, (request) => {
      const { pathname } = new URL(request.url);
      const isWait = pathname.endsWith('/wait');
      waitsCount += isWait ? 1 : 0;
      return isWait ? respondToWait?.() : pathname.endsWith('/aggregated/instances') ? respondToList?.() : undefined;
    });
    vms = createComputeVmProvider(compute.engine);
  });
  afterEach(async () => {
    database.close();
    await compute.close();
  });

  it('waits for a deletion to end, so that the job can be closed at once', async () => {
    const request = vmRequest(PLACE, 'obedient');
    await vms.create(request);
    expect(await vms.delete(request)).toBe('GONE');
  });

  it.each([
    [404, "The resource 'projects/p/zones/local1-a/operations/o' was not found"],
    [504, 'The deadline has passed.'],
  ])('checks the VM itself if the wait returns %i', async (status, message) => {
    const request = vmRequest(PLACE, 'inconclusive');
    await vms.create(request);
    respondToWait = () => rejection(status, message);

    expect(await vms.delete(request)).toMatch(/^(DELETING|GONE)$/);
    await expect.poll(() => vms.delete(request)).toBe('GONE');
  });

  it.each([
    [403, "Required 'compute.zoneOperations.get' permission for 'projects/p/zones/local1-a/operations/o'"],
    [500, 'Internal error.'],
  ])('throws if the wait returns %i, which an operator has to fix', async (status, message) => {
    const request = vmRequest(PLACE, 'forbidden');
    await vms.create(request);
    respondToWait = () => rejection(status, message);

    await expect(vms.delete(request)).rejects.toThrow(message);
    respondToWait = null;
    await expect.poll(() => vms.delete(request)).toBe('GONE');
  });

  it('deletes all orphaned VMs in one sweep, without waiting for each deletion', async () => {
    const names = ['orphan-1', 'orphan-2', 'orphan-3'];
    for (const name of names) {
      await vms.create(vmRequest(PLACE, name));
    }
    const before = waitsCount;
    await sweep({ ...portsOn(database), vms }, Date.now());

    expect(waitsCount).toBe(before);
    await expect.poll(() => vms.list()).toEqual([]);
  });

  it('rejects a list as incomplete if a zone is unreachable', async () => {
    await vms.create(vmRequest(PLACE, 'seen'));
    await vms.create({ ...vmRequest(PLACE, 'unseen'), zone: OTHER_ZONE });
    compute.outages.set(OTHER_ZONE, true);

    await expect(vms.list()).rejects.toMatchObject({
      message: expect.stringContaining(`${OTHER_ZONE} could not be reached`),
      zones: [OTHER_ZONE],
      seen: [{ jobId: 'seen' }],
    });
    await expect(vms.list({ jobId: 'unseen' })).rejects.toMatchObject({ seen: [] });
  });

  it('sweeps the reachable zones, and reports that others were not swept', async () => {
    await vms.create(vmRequest(PLACE, 'seen'));
    await vms.create({ ...vmRequest(PLACE, 'unseen'), zone: OTHER_ZONE });
    compute.outages.set(OTHER_ZONE, true);

    await expect(sweep({ ...portsOn(database), vms }, Date.now())).rejects.toThrow(/could not be reached/);

    compute.outages.set(OTHER_ZONE, false);
    await expect.poll(async () => (await vms.list()).map(({ jobId }) => jobId)).toEqual(['unseen']);
  });

  it('does not close a job while one of its VMs may be in an unreachable zone', async () => {
    const ports = { ...portsOn(database), vms };
    await ports.jobs.create({ ...simulatedJob('cancelled', 0), zones: [PLACE.zone, OTHER_ZONE] }, []);
    await handleJobEvent(ports, { type: 'CANCEL_REQUESTED', eventId: 'cancel', jobId: 'cancelled', at: 1 });
    const statusOf = async () => (await ports.jobs.read('cancelled'))?.record.status;
    await vms.create(vmRequest(PLACE, 'cancelled'));
    compute.outages.set(OTHER_ZONE, true);

    await expect(teardown(ports, 'cancelled', 2)).rejects.toThrow(/could not be reached/);
    expect(await statusOf()).toBe('CLOSING');
    expect(await vms.find(vmRequest(PLACE, 'cancelled'))).toBeUndefined();

    compute.outages.set(OTHER_ZONE, false);
    await teardown(ports, 'cancelled', 3);
    expect(await statusOf()).toBe('CLOSED');
  });

  it('closes a job while a zone is unreachable in which it cannot have VMs', async () => {
    const ports = { ...portsOn(database), vms };
    await ports.jobs.create({ ...simulatedJob('elsewhere', 0), zones: [PLACE.zone] }, []);
    await handleJobEvent(ports, { type: 'CANCEL_REQUESTED', eventId: 'cancel', jobId: 'elsewhere', at: 1 });
    await vms.create(vmRequest(PLACE, 'elsewhere'));
    compute.outages.set(OTHER_ZONE, true);

    await teardown(ports, 'elsewhere', 2);
    expect((await ports.jobs.read('elsewhere'))?.record.status).toBe('CLOSED');
  });

  it('does not take a zone with another warning for one without VMs', async () => {
    respondToList = () =>
      Response.json({
        items: { 'zones/local1-b': { warning: { code: 'LIST_OVERHEAD_QUOTA_EXCEED', message: 'Too many.' } } },
      });
    await expect(vms.list()).rejects.toMatchObject({ zones: [OTHER_ZONE], seen: [] });
  });
});

function rejection(status: number, message: string): Response {
  return Response.json({ error: { code: status, message } }, { status });
}

function portsOn(database: Database) {
  return {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    logger: noLog,
  };
}
