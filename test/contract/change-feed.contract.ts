import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHANGES_MAX, type Change, type ChangeFeed } from '#shared/ports/change-feed.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { jobOf } from '../support/contract/job-store-examples.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { exampleReplica } from '../support/domain/example-replica.ts';
import { searchingTuning } from '../support/domain/example-tuning.ts';

export type ChangeStores = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly replicas: ReplicaStore;
  readonly changes: ChangeFeed;
};

/** The contract of every ChangeFeed and the stores whose changes it lists. */
export function describeChangeFeedContract(name: string, open: OpenStore<ChangeStores>): void {
  describe(`${name} as a change feed`, () => {
    let opened: StoreUnderTest<ChangeStores>;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    describeChanges(() => opened.store);
    describeMarkers(() => opened, open);
  });
}

/** Reads as clients do: an answer may repeat changes, and tunings or heartbeats may come with the next one. */
async function startReader(feed: ChangeFeed, jobId?: string) {
  let { marker } = await feed.list({ marker: undefined, jobId });
  const known = new Set<string>();
  return async () => {
    const found: Change[] = [];
    for (let request = 0; request < 2; request += 1) {
      const answer = await feed.list({ marker, jobId });
      expect(answer.isEverything).toBe(false);
      ({ marker } = answer);
      found.push(...answer.changes);
    }
    const isNew = (change: Change) => {
      const key = JSON.stringify(change);
      return !known.has(key) && known.add(key) !== undefined;
    };
    return found.filter(isNew).map(({ jobId: id, kind }) => `${kind} ${id}`);
  };
}

function heartbeatOf(jobId: string, sequence = 1) {
  return { ...exampleReplica(), jobId, sequence, heardAt: Date.now() };
}

function describeChanges(stores: () => ChangeStores): void {
  it('lists a job when it is created and with each commit, and nothing in between', async () => {
    const { jobs, changes } = stores();
    await jobs.create(jobOf('before'), []);
    const read = await startReader(changes);
    await read();

    await jobs.create(jobOf('one'), []);
    expect(await read()).toEqual(['RECORD one']);
    expect(await read()).toEqual([]);
    await jobs.commit({ expectedRevision: 1, eventId: 'e1', record: jobOf('one'), effects: [] });
    expect(await read()).toEqual(['RECORD one']);
    await jobs.commit({ expectedRevision: 1, eventId: 'e2', record: jobOf('one'), effects: [] });
    expect(await read()).toEqual([]);
  });

  it('lists tunings, the jobs of trials, and heartbeats', async () => {
    const { jobs, tunings, replicas, changes } = stores();
    const read = await startReader(changes);
    await tunings.create(searchingTuning({ tuningId: 'search' }), []);
    expect(await read()).toEqual(['RECORD search']);
    const tuning = searchingTuning({ tuningId: 'search' });
    await tunings.commit({ expectedRevision: 1, eventId: 'e1', record: tuning, trials: [], effects: [] });
    expect(await read()).toEqual(['RECORD search']);

    const trial = { tuningId: 'search', ordinal: 1, metricIds: ['accuracy'] };
    await jobs.create(jobOf('search_trial_1', { trial }), []);
    await replicas.record(heartbeatOf('search_trial_1'));
    expect((await read()).toSorted()).toEqual(['HEARTBEAT search_trial_1', 'RECORD search_trial_1']);
    await replicas.record(heartbeatOf('search_trial_1', 2));
    expect(await read()).toEqual(['HEARTBEAT search_trial_1']);
  });

  it('lists the changes of one job or tuning only', async () => {
    const { jobs, tunings, replicas, changes } = stores();
    const [readJob, readTuning] = [await startReader(changes, 'one'), await startReader(changes, 'search')];
    await jobs.create(jobOf('one'), []);
    await jobs.create(jobOf('other'), []);
    await tunings.create(searchingTuning({ tuningId: 'search' }), []);
    expect([await readJob(), await readTuning()]).toEqual([['RECORD one'], ['RECORD search']]);

    await replicas.record(heartbeatOf('other'));
    await replicas.record(heartbeatOf('one'));
    expect([await readJob(), await readTuning()]).toEqual([['HEARTBEAT one'], []]);
    expect([await readJob(), await readTuning()]).toEqual([[], []]);
  });

  it('misses no commit while others run', async () => {
    const { jobs, changes } = stores();
    const read = await startReader(changes);
    const ids = Array.from({ length: 40 }, (_, index) => `job_${index}`);
    let isDone = false;
    const creating = Promise.all(ids.map((jobId) => jobs.create(jobOf(jobId), []))).then(() => {
      isDone = true;
    });
    const found = new Set<string>();
    while (!isDone) {
      (await read()).forEach((change) => void found.add(change));
    }
    await creating;
    (await read()).forEach((change) => void found.add(change));
    expect([...found].toSorted()).toEqual(ids.map((id) => `RECORD ${id}`).toSorted());
  });
}

function describeMarkers(opened: () => StoreUnderTest<ChangeStores>, open: OpenStore<ChangeStores>): void {
  it('continues after the marker of another connection', async () => {
    const { jobs, changes } = opened().store;
    const { marker } = await changes.list({ marker: undefined });
    const other = await opened().connect();
    await jobs.create(jobOf('one'), []);
    const { changes: found, isEverything } = await other.changes.list({ marker });
    expect([found.map(({ jobId }) => jobId), isEverything]).toEqual([['one'], false]);
  });

  it.each(['', 'x', '1.2.3.4', '0.0.0.0.0'])('answers the marker "%s" with everything', async (marker) => {
    const answer = await opened().store.changes.list({ marker });
    expect([answer.isEverything, answer.changes]).toEqual([true, []]);
    expect((await opened().store.changes.list({ marker: answer.marker })).isEverything).toBe(false);
  });

  it('answers the marker of another database with everything', async () => {
    const { jobs, changes } = opened().store;
    await jobs.create(jobOf('one'), []);
    const other = await open();
    await other.store.jobs.create(jobOf('two'), []);
    const { marker } = await other.store.changes.list({ marker: undefined });
    await other.close();
    expect((await changes.list({ marker })).isEverything).toBe(true);
  });

  it('answers with everything when too much has changed for one answer', async () => {
    const { jobs, changes } = opened().store;
    const { marker } = await changes.list({ marker: undefined });
    const ids = Array.from({ length: CHANGES_MAX + 1 }, (_, index) => `job_${index}`);
    await Promise.all(ids.map((jobId) => jobs.create(jobOf(jobId), [])));
    expect(await changes.list({ marker })).toMatchObject({ isEverything: true, changes: [] });
  });
}
