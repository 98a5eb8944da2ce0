import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { job, jobOf, provisionOf, revisionOf } from '../support/contract/job-store-examples.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { closedJob } from '../support/domain/example-job.ts';
import { describeRecordStoreContract } from './record-store.contract.ts';

/** The contract of every JobStore. */
export function describeJobStoreContract(name: string, open: OpenStore<JobStore>): void {
  describeRecordStoreContract(`${name} as a store of jobs`, open, {
    recordOf: (id, { mark = 1, ...given } = {}) => jobOf(id, { placementRound: mark, ...given }),
    closedOf: (id) => ({ ...closedJob(), jobId: id }),
    effectOf: provisionOf,
    facts: {},
  });
  describe(`${name} as a store of jobs and their VMs`, () => {
    let opened: StoreUnderTest<JobStore>;
    let store: JobStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describeCreation(() => store);
    describeLists(() => store);
    describeUsage(() => store);
  });
}

function idsOf(jobs: readonly { readonly jobId: string }[]): readonly string[] {
  return jobs.map(({ jobId }) => jobId);
}

function describeCreation(store: () => JobStore): void {
  it('reads a job exactly as it was created', async () => {
    const waitingFor = causeOf('STOCKOUT', 'Zone “a” is full: 満員 🚧', ['line 1\nline 2', '']);
    const waiting = {
      ...job,
      waitingFor,
      warnings: [{ code: 'W', message: 'm', remedy: 'r', path: 'trainingInput.region', line: 3 }],
    };
    expect(await store().create(waiting, [])).toBe('CREATED');
    expect((await store().read('digits'))?.record).toEqual(waiting);
  });
}

function describeLists(store: () => JobStore): void {
  it('lists the jobs that wait for a limit, those first that were submitted first, until they have VMs', async () => {
    const waitsFor = { metric: 'CPUS', family: null, limit: 24, region: 'us-central1', isHeld: false };
    for (const [jobId, createdAt] of [
      ['b', 2_000],
      ['c', 1_000],
      ['a', 2_000],
    ] as const) {
      await store().create(jobOf(jobId, { createdAt, waitsFor }), []);
    }
    await store().create(jobOf('digits', { createdAt: 500 }), []);
    expect(idsOf(await store().listWaiting(10))).toEqual(['c', 'a', 'b']);
    expect(idsOf(await store().listWaiting(2))).toEqual(['c', 'a']);
    const change = async (jobId: string, next: Job) =>
      store().commit({ expectedRevision: await revisionOf(store(), jobId), eventId: 'e1', record: next, effects: [] });
    await change('c', jobOf('c', { waitsFor: null }));
    await change('b', { ...closedJob(), jobId: 'b', waitsFor });
    expect(await store().listWaiting(10)).toEqual([jobOf('a', { createdAt: 2_000, waitsFor })]);
  });

  it('lists no job of a trial, which is read and due as any other', async () => {
    const trial = { tuningId: 'study', ordinal: 1, metricIds: ['accuracy'] };
    await store().create(jobOf('study_trial_1', { createdAt: 2_000, wakeAt: 1_000, trial }), []);
    await store().create(jobOf('digits', { createdAt: 1_000, wakeAt: 2_000 }), []);
    expect(idsOf(await store().list({ countMax: 1 }))).toEqual(['digits']);
    expect((await store().listDue(2_000, 10)).map(({ id }) => id)).toEqual(['study_trial_1', 'digits']);
    expect((await store().read('study_trial_1'))?.record.trial).toEqual(trial);
  });
}

function describeUsage(store: () => JobStore): void {
  const LIMITS = { VMS_MAX: { max: 3, reason: 'three at most', remedy: 'raise it' } };
  const vms = (count: number) => ({ vms: count, microUsdPerHour: 200_000 * count, unpricedVms: 0 });
  const commit = async (
    jobId: string,
    change: Pick<Parameters<JobStore['commit']>[0], 'eventId' | 'usage' | 'limits'>,
  ) =>
    store().commit({
      expectedRevision: await revisionOf(store(), jobId),
      record: jobOf(jobId),
      effects: [],
      ...change,
    });

  it('sums up what jobs use, as committed with each of them, until they are closed', async () => {
    for (const jobId of ['a', 'b']) {
      await store().create(jobOf(jobId), []);
    }
    expect(await store().readUsage()).toEqual(vms(0));
    await commit('a', { eventId: 'e1', usage: vms(2) });
    await commit('b', { eventId: 'e1', usage: { vms: 1, microUsdPerHour: 0, unpricedVms: 1 } });
    await commit('a', { eventId: 'e2' });
    expect(await store().readUsage()).toEqual({ vms: 3, microUsdPerHour: 400_000, unpricedVms: 1 });
    await commit('a', { eventId: 'e2', usage: vms(9) });
    await commit('a', { eventId: 'e3', usage: vms(1) });
    const closed = { ...closedJob(), jobId: 'b' };
    const expectedRevision = await revisionOf(store(), 'b');
    await store().commit({ expectedRevision, eventId: 'e4', record: closed, effects: [], usage: vms(0) });
    expect(await store().readUsage()).toEqual(vms(1));
  });

  it('rejects what adds VMs beyond a limit without writing, and nothing else', async () => {
    for (const jobId of ['a', 'b']) {
      await store().create(jobOf(jobId), []);
    }
    await commit('a', { eventId: 'e1', usage: vms(3), limits: LIMITS });
    expect(await commit('b', { eventId: 'e1', usage: vms(1), limits: LIMITS })).toBe('OVER_LIMIT');
    expect(await store().readUsage()).toEqual(vms(3));
    expect(
      await commit('a', { eventId: 'e2', usage: vms(3), limits: { VMS_MAX: { ...LIMITS.VMS_MAX, max: 2 } } }),
    ).toBe('COMMITTED');
    await commit('a', { eventId: 'e3', usage: vms(2) });
    expect(await commit('b', { eventId: 'e1', usage: vms(1), limits: LIMITS })).toBe('COMMITTED');
  });

  it('admits as many of concurrent jobs as the limit allows', async () => {
    const jobIds = Array.from({ length: 8 }, (_, index) => `j${index}`);
    for (const jobId of jobIds) {
      await store().create(jobOf(jobId), []);
    }
    const admit = (jobId: string) => commit(jobId, { eventId: 'e1', usage: vms(1), limits: LIMITS });
    const outcomes = await Promise.all(jobIds.map(admit));
    expect(outcomes.sort()).toEqual([...Array(3).fill('COMMITTED'), ...Array(5).fill('OVER_LIMIT')]);
    expect(await store().readUsage()).toEqual(vms(3));
  });
}
