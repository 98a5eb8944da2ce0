import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import {
  job,
  jobOf,
  outboxEffects,
  provisionOf,
  revisionOf,
  teardown,
} from '../support/contract/job-store-examples.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { closedJob } from '../support/domain/example-job.ts';
import { describeOutbox } from './job-store-effects.contract.ts';

/** The contract of every JobStore. */
export function describeJobStoreContract(name: string, open: OpenStore<JobStore>): void {
  describe(`${name} as a job store`, () => {
    let opened: StoreUnderTest<JobStore>;
    let store: JobStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describeCreation(() => store);
    describeCommits(() => store);
    describeOutbox(() => store);
    describeLists(() => store);
    describeUsage(() => store);
    describeConnections(() => opened);
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
    expect((await store().read('digits'))?.job).toEqual(waiting);
  });

  it('returns undefined for a job that was never created', async () => {
    expect(await store().read('digits')).toBeUndefined();
    expect(await store().commit({ expectedRevision: 1, eventId: 'e1', job, effects: [teardown] })).toBe('STALE');
    expect(await store().read('digits')).toBeUndefined();
    expect(await store().listJobsWithOutbox(10)).toEqual([]);
  });

  it('does not change an existing job or its outbox on create', async () => {
    await store().create(job, [provisionOf(1)]);
    const revision = await revisionOf(store());
    expect(await store().create({ ...job, createdAt: 9_000 }, [teardown])).toBe('EXISTS');
    expect(await store().read('digits')).toEqual({ job, revision });
    expect(await outboxEffects(store())).toEqual([provisionOf(1)]);
  });
}

function describeCommits(store: () => JobStore): void {
  it('replaces the job and increases the revision', async () => {
    await store().create(job, []);
    const revision = await revisionOf(store());
    const next = { ...job, placementRound: 2, wakeAt: 500_000 };
    expect(await store().commit({ expectedRevision: revision, eventId: 'e1', job: next, effects: [] })).toBe(
      'COMMITTED',
    );
    expect((await store().read('digits'))?.job).toEqual(next);
    expect(await revisionOf(store())).toBeGreaterThan(revision);
  });

  it('rejects a commit against an old revision without writing', async () => {
    await store().create(job, []);
    const expectedRevision = await revisionOf(store());
    await store().commit({ expectedRevision, eventId: 'e1', job, effects: [] });
    const late = { expectedRevision, eventId: 'e2', job: { ...job, placementRound: 7 }, effects: [teardown] };
    expect(await store().commit(late)).toBe('STALE');
    expect((await store().read('digits'))?.job).toEqual(job);
    expect(await outboxEffects(store())).toEqual([]);
    expect(await store().commit({ ...late, expectedRevision: await revisionOf(store()) })).toBe('COMMITTED');
  });

  it('handles an event once, whatever its expected revision', async () => {
    await store().create(job, []);
    const expectedRevision = await revisionOf(store());
    const commit = { expectedRevision, eventId: 'e1', job, effects: [provisionOf(1)] };
    await store().commit(commit);
    const again = { ...commit, job: { ...job, placementRound: 7 }, effects: [teardown] };
    expect(await store().commit(again)).toBe('DUPLICATE');
    expect(await store().commit({ ...again, expectedRevision: await revisionOf(store()) })).toBe('DUPLICATE');
    expect((await store().read('digits'))?.job).toEqual(job);
    expect(await outboxEffects(store())).toEqual([provisionOf(1)]);
  });

  it('separates events of different jobs with the same id', async () => {
    for (const jobId of ['digits', 'Digits']) {
      await store().create(jobOf(jobId), []);
      const commit = {
        expectedRevision: await revisionOf(store(), jobId),
        eventId: 'created-1-1',
        job: jobOf(jobId),
        effects: [],
      };
      expect(await store().commit(commit)).toBe('COMMITTED');
    }
  });
}

function describeLists(store: () => JobStore): void {
  it('lists due jobs, most overdue first, up to a count', async () => {
    for (const wakeAt of [3_000, 1_000, 2_000, 4_000]) {
      await store().create(jobOf(`due_${wakeAt}`, { wakeAt }), []);
    }
    expect(await store().listDue(999, 10)).toEqual([]);
    expect(await store().listDue(1_000, 10)).toEqual([{ jobId: 'due_1000', wakeAt: 1_000 }]);
    expect(idsOf(await store().listDue(3_999, 10))).toEqual(['due_1000', 'due_2000', 'due_3000']);
    expect(idsOf(await store().listDue(9_999, 2))).toEqual(['due_1000', 'due_2000']);
  });

  it('lists a job by its newest wakeAt, and never a closed job', async () => {
    await store().create(jobOf('digits', { wakeAt: 1_000 }), []);
    const later = jobOf('digits', { wakeAt: 5_000 });
    await store().commit({ expectedRevision: await revisionOf(store()), eventId: 'e1', job: later, effects: [] });
    expect(await store().listDue(4_999, 10)).toEqual([]);
    expect(await store().listDue(5_000, 10)).toEqual([{ jobId: later.jobId, wakeAt: later.wakeAt }]);
    await store().commit({ expectedRevision: await revisionOf(store()), eventId: 'e2', job: closedJob(), effects: [] });
    expect(await store().listDue(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    expect(await store().list({ countMax: 10 })).toEqual([closedJob()]);
  });

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
      store().commit({ expectedRevision: await revisionOf(store(), jobId), eventId: 'e1', job: next, effects: [] });
    await change('c', jobOf('c', { waitsFor: null }));
    await change('b', { ...closedJob(), jobId: 'b', waitsFor });
    expect(await store().listWaiting(10)).toEqual([jobOf('a', { createdAt: 2_000, waitsFor })]);
  });

  it('lists the newest jobs first, page by page', async () => {
    for (const createdAt of [2_000, 5_000, 1_000, 4_000, 3_000]) {
      await store().create(jobOf(`at_${createdAt}`, { createdAt }), []);
    }
    const pageAfter = (createdAt: number) => ({ countMax: 2, after: { createdAt, jobId: `at_${createdAt}` } });
    expect(idsOf(await store().list({ countMax: 2 }))).toEqual(['at_5000', 'at_4000']);
    expect(idsOf(await store().list(pageAfter(4_000)))).toEqual(['at_3000', 'at_2000']);
    expect(idsOf(await store().list(pageAfter(2_000)))).toEqual(['at_1000']);
  });

  it('lists no job of a trial, which is read and due as any other', async () => {
    const trial = { tuningId: 'study', ordinal: 1, metricIds: ['accuracy'] };
    await store().create(jobOf('study_trial_1', { createdAt: 2_000, wakeAt: 1_000, trial }), []);
    await store().create(jobOf('digits', { createdAt: 1_000, wakeAt: 2_000 }), []);
    expect(idsOf(await store().list({ countMax: 1 }))).toEqual(['digits']);
    expect(idsOf(await store().listDue(2_000, 10))).toEqual(['study_trial_1', 'digits']);
    expect((await store().read('study_trial_1'))?.job.trial).toEqual(trial);
  });

  it('skips no job if a page ends between two of the same millisecond', async () => {
    for (const jobId of ['c', 'a', 'b']) {
      await store().create(jobOf(jobId, { createdAt: 1_000 }), []);
    }
    expect(idsOf(await store().list({ countMax: 2 }))).toEqual(['a', 'b']);
    expect(idsOf(await store().list({ countMax: 2, after: { createdAt: 1_000, jobId: 'b' } }))).toEqual(['c']);
  });
}

function describeUsage(store: () => JobStore): void {
  const LIMITS = { VMS_MAX: { max: 3, reason: 'three at most', remedy: 'raise it' } };
  const vms = (count: number) => ({ vms: count, microUsdPerHour: 200_000 * count, unpricedVms: 0 });
  const commit = async (
    jobId: string,
    change: Pick<Parameters<JobStore['commit']>[0], 'eventId' | 'usage' | 'limits'>,
  ) =>
    store().commit({ expectedRevision: await revisionOf(store(), jobId), job: jobOf(jobId), effects: [], ...change });

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
    await store().commit({ expectedRevision, eventId: 'e4', job: closed, effects: [], usage: vms(0) });
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

function describeConnections(opened: () => StoreUnderTest<JobStore>): void {
  it('shares job, handled events, outbox and deadlines with another connection', async () => {
    const { store, connect } = opened();
    await store.create(job, [provisionOf(1)]);
    const commit = {
      expectedRevision: await revisionOf(store),
      eventId: 'e1',
      job: { ...job, placementRound: 2 },
      effects: [teardown],
    };
    await store.commit(commit);
    const other = await connect();
    expect(await other.read('digits')).toEqual(await store.read('digits'));
    expect(await other.listOutbox('digits')).toEqual(await store.listOutbox('digits'));
    expect(await other.listJobsWithOutbox(10)).toEqual(['digits']);
    expect(await other.listDue(job.wakeAt, 10)).toEqual([{ jobId: job.jobId, wakeAt: job.wakeAt }]);
    expect(await other.commit({ ...commit, expectedRevision: await revisionOf(other) })).toBe('DUPLICATE');
  });

  it('accepts exactly one of many concurrent commits at the same revision', async () => {
    const { store, connect } = opened();
    await store.create(job, []);
    const stores = [store, await connect()];
    const expectedRevision = await revisionOf(store);
    const commits = Array.from({ length: 10 }, (_, index) => ({
      expectedRevision,
      eventId: `e${index}`,
      job: { ...job, placementRound: index },
      effects: [provisionOf(index)],
    }));
    const outcomes = await Promise.all(commits.map((commit, index) => stores[index % 2]?.commit(commit)));
    expect([...outcomes].sort()).toEqual(['COMMITTED', ...Array(9).fill('STALE')]);
    const winner = outcomes.indexOf('COMMITTED');
    expect((await store.read('digits'))?.job.placementRound).toBe(winner);
    expect(await outboxEffects(store)).toEqual([provisionOf(winner)]);
  });

  it('handles an event once if it is delivered concurrently', async () => {
    const { store, connect } = opened();
    await store.create(job, []);
    const stores = [store, await connect()];
    const commit = { expectedRevision: await revisionOf(store), eventId: 'e1', job, effects: [teardown] };
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => stores[index % 2]?.commit(commit)));
    expect(outcomes.filter((outcome) => outcome === 'COMMITTED')).toHaveLength(1);
    expect(await outboxEffects(store)).toEqual([teardown]);
  });

  it('creates a job once if it is submitted concurrently', async () => {
    const { store, connect } = opened();
    const stores = [store, await connect()];
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        stores[index % 2]?.create({ ...job, createdAt: index }, [provisionOf(index)]),
      ),
    );
    expect([...outcomes].sort()).toEqual(['CREATED', ...Array(9).fill('EXISTS')]);
    const winner = outcomes.indexOf('CREATED');
    expect((await store.read('digits'))?.job.createdAt).toBe(winner);
    expect(await outboxEffects(store)).toEqual([provisionOf(winner)]);
  });
}
