import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change, MachineRecord, RecordStore } from '#shared/machine/record-store.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';

/** Records of one kind, for the contract; those with another mark or time differ. */
export type RecordExamples<Item, Effect, Facts> = {
  readonly recordOf: (id: string, given?: { createdAt?: number; wakeAt?: number; mark?: number }) => Item;
  readonly closedOf: (id: string) => Item;
  readonly effectOf: (mark: number) => Effect;
  /** The facts that a commit contains beside record and effects. */
  readonly facts: Facts;
};

type Store = RecordStore<MachineRecord, unknown>;
type Examples = RecordExamples<MachineRecord, unknown, object>;
type Opened = () => StoreUnderTest<Store>;

/** The contract of every RecordStore, for one kind of record. */
export function describeRecordStoreContract<Item extends MachineRecord, Effect, Facts extends object>(
  name: string,
  open: OpenStore<RecordStore<Item, Effect, Facts>>,
  examples: RecordExamples<Item, Effect, Facts>,
): void {
  describe(name, () => {
    let opened: StoreUnderTest<Store>;

    beforeEach(async () => {
      // The suite gives each store only records and effects that it has from the examples of that store.
      opened = (await open()) as unknown as StoreUnderTest<Store>;
    });
    afterEach(() => opened.close());

    const given = toolsOf(() => opened, examples as unknown as Examples);
    describeCreation(given);
    describeCommits(given);
    describeOutbox(given);
    describeLists(given);
    describeConnections(given);
  });
}

type Given = ReturnType<typeof toolsOf>;

function toolsOf(opened: Opened, examples: Examples) {
  const store = () => opened().store;
  const revisionOf = async (id = 'digits') => (await store().read(id))?.revision ?? Number.NaN;
  const changeOf = (expectedRevision: number, change: Omit<Change<MachineRecord, unknown>, 'expectedRevision'>) => ({
    ...examples.facts,
    ...change,
    expectedRevision,
  });
  return {
    ...examples,
    opened,
    store,
    revisionOf,
    changeOf,
    record: examples.recordOf('digits'),
    effectsOf: async (id = 'digits') => (await store().listOutbox(id)).map(({ effect }) => effect),
    /** Commits to the newest revision. */
    commit: async (eventId: string, record: MachineRecord, effects: readonly unknown[] = []) =>
      store().commit(changeOf(await revisionOf(idsOf([record])[0]), { eventId, record, effects })),
  };
}

function idsOf(records: readonly object[]): readonly string[] {
  return records.map((record) => {
    const { id, jobId, tuningId } = record as { readonly [name: string]: string };
    return id ?? jobId ?? tuningId ?? '';
  });
}

function describeCreation({ store, record, recordOf, effectOf, changeOf, revisionOf, effectsOf }: Given): void {
  it('returns undefined for a record that was never created, and commits nothing to it', async () => {
    expect(await store().read('digits')).toBeUndefined();
    expect(await store().commit(changeOf(1, { eventId: 'e1', record, effects: [effectOf(1)] }))).toBe('STALE');
    expect(await store().read('digits')).toBeUndefined();
    expect(await store().listWithOutbox(10)).toEqual([]);
  });

  it('does not change an existing record or its outbox on create', async () => {
    expect(await store().create(record, [effectOf(1)])).toBe('CREATED');
    const revision = await revisionOf();
    expect(await store().create(recordOf('digits', { createdAt: 9_000 }), [effectOf(2)])).toBe('EXISTS');
    expect(await store().read('digits')).toEqual({ record, revision });
    expect(await effectsOf()).toEqual([effectOf(1)]);
  });
}

function describeCommits(given: Given): void {
  const { store, record, recordOf, effectOf, changeOf, revisionOf, effectsOf, commit } = given;
  const next = recordOf('digits', { mark: 7 });

  it('replaces the record and increases the revision', async () => {
    await store().create(record, []);
    const revision = await revisionOf();
    expect(await commit('e1', next)).toBe('COMMITTED');
    expect((await store().read('digits'))?.record).toEqual(next);
    expect(await revisionOf()).toBeGreaterThan(revision);
  });

  it('rejects a commit against an old revision without writing', async () => {
    await store().create(record, []);
    const old = await revisionOf();
    await commit('e1', record);
    expect(await store().commit(changeOf(old, { eventId: 'e2', record: next, effects: [effectOf(1)] }))).toBe('STALE');
    expect((await store().read('digits'))?.record).toEqual(record);
    expect(await effectsOf()).toEqual([]);
    expect(await commit('e2', next, [effectOf(1)])).toBe('COMMITTED');
  });

  it('handles an event once, whatever its expected revision', async () => {
    await store().create(record, []);
    const old = await revisionOf();
    await commit('e1', record, [effectOf(1)]);
    expect(await store().commit(changeOf(old, { eventId: 'e1', record: next, effects: [effectOf(2)] }))).toBe(
      'DUPLICATE',
    );
    expect(await commit('e1', next, [effectOf(2)])).toBe('DUPLICATE');
    expect((await store().read('digits'))?.record).toEqual(record);
    expect(await effectsOf()).toEqual([effectOf(1)]);
  });

  it('separates events of different records with the same id', async () => {
    for (const id of ['digits', 'Digits']) {
      await store().create(recordOf(id), []);
      expect(await commit('created-1-1', recordOf(id))).toBe('COMMITTED');
    }
  });
}

function describeOutbox({ store, record, recordOf, effectOf, commit, effectsOf }: Given): void {
  it('lists outbox entries in commit order, with unique ids', async () => {
    await store().create(record, [effectOf(1), effectOf(2)]);
    await commit('e9', record, [effectOf(9), effectOf(3)]);
    await commit('e1', record, [effectOf(4)]);
    expect(await effectsOf()).toEqual([1, 2, 9, 3, 4].map(effectOf));
    expect(new Set((await store().listOutbox('digits')).map(({ entryId }) => entryId)).size).toBe(5);
  });

  it('keeps the order of more than nine entries', async () => {
    const effects = Array.from({ length: 12 }, (_, index) => effectOf(index + 1));
    await store().create(record, effects);
    expect(await effectsOf()).toEqual(effects);
  });

  it('marks an entry as published idempotently, and no other', async () => {
    await store().create(record, [effectOf(1), effectOf(2)]);
    await store().create(recordOf('other'), [effectOf(1)]);
    const [first] = await store().listOutbox('digits');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('unknown', 'none');
    expect(await effectsOf()).toEqual([effectOf(2)]);
    expect(await effectsOf('other')).toHaveLength(1);
  });

  it('lists the records with outbox entries, each once, up to a count', async () => {
    await store().create(record, [effectOf(1), effectOf(2)]);
    await store().create(recordOf('quiet'), []);
    await store().create(recordOf('other'), [effectOf(1)]);
    expect([...(await store().listWithOutbox(10))].sort()).toEqual(['digits', 'other']);
    expect(await store().listWithOutbox(1)).toHaveLength(1);
    for (const { entryId } of await store().listOutbox('digits')) {
      await store().markPublished('digits', entryId);
    }
    expect(await store().listWithOutbox(10)).toEqual(['other']);
  });
}

function describeLists({ store, recordOf, closedOf, commit }: Given): void {
  it('lists due records, most overdue first, up to a count', async () => {
    for (const wakeAt of [3_000, 1_000, 2_000, 4_000]) {
      await store().create(recordOf(`due_${wakeAt}`, { wakeAt }), []);
    }
    expect(await store().listDue(999, 10)).toEqual([]);
    expect(await store().listDue(1_000, 10)).toEqual([{ id: 'due_1000', wakeAt: 1_000 }]);
    expect(idsOf(await store().listDue(3_999, 10))).toEqual(['due_1000', 'due_2000', 'due_3000']);
    expect(idsOf(await store().listDue(9_999, 2))).toEqual(['due_1000', 'due_2000']);
  });

  it('lists a record by its newest wakeAt, and never a closed one', async () => {
    await store().create(recordOf('digits', { wakeAt: 1_000 }), []);
    await commit('e1', recordOf('digits', { wakeAt: 5_000 }));
    expect(await store().listDue(4_999, 10)).toEqual([]);
    expect(await store().listDue(5_000, 10)).toEqual([{ id: 'digits', wakeAt: 5_000 }]);
    await commit('e2', closedOf('digits'));
    expect(await store().listDue(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    expect(await store().list({ countMax: 10 })).toEqual([closedOf('digits')]);
  });

  it('lists the newest records first, page by page', async () => {
    for (const createdAt of [2_000, 5_000, 1_000, 4_000, 3_000]) {
      await store().create(recordOf(`at_${createdAt}`, { createdAt }), []);
    }
    const pageAfter = (createdAt: number) => ({ countMax: 2, after: { createdAt, id: `at_${createdAt}` } });
    expect(idsOf(await store().list({ countMax: 2 }))).toEqual(['at_5000', 'at_4000']);
    expect(idsOf(await store().list(pageAfter(4_000)))).toEqual(['at_3000', 'at_2000']);
    expect(idsOf(await store().list(pageAfter(2_000)))).toEqual(['at_1000']);
  });

  it('skips no record if a page ends between two of the same millisecond', async () => {
    for (const id of ['c', 'a', 'b']) {
      await store().create(recordOf(id, { createdAt: 1_000 }), []);
    }
    expect(idsOf(await store().list({ countMax: 2 }))).toEqual(['a', 'b']);
    expect(idsOf(await store().list({ countMax: 2, after: { createdAt: 1_000, id: 'b' } }))).toEqual(['c']);
  });
}

function describeConnections({ opened, record, recordOf, effectOf, revisionOf, changeOf, effectsOf }: Given): void {
  it('shares record, handled events, outbox and deadlines with another connection', async () => {
    const { store, connect } = opened();
    const next = recordOf('digits', { mark: 2, wakeAt: 5_000 });
    await store.create(record, [effectOf(1)]);
    const change = { eventId: 'e1', record: next, effects: [effectOf(2)] };
    await store.commit(changeOf(await revisionOf(), change));
    const other = await connect();
    expect(await other.read('digits')).toEqual(await store.read('digits'));
    expect(await other.listOutbox('digits')).toEqual(await store.listOutbox('digits'));
    expect(await other.listWithOutbox(10)).toEqual(['digits']);
    expect(await other.listDue(5_000, 10)).toEqual([{ id: 'digits', wakeAt: 5_000 }]);
    expect(await other.commit(changeOf(await revisionOf(), change))).toBe('DUPLICATE');
  });

  it('accepts exactly one of many concurrent commits at the same revision', async () => {
    const { store, connect } = opened();
    await store.create(record, []);
    const stores = [store, await connect()];
    const revision = await revisionOf();
    const commits = Array.from({ length: 10 }, (_, mark) =>
      changeOf(revision, { eventId: `e${mark}`, record: recordOf('digits', { mark }), effects: [effectOf(mark + 1)] }),
    );
    const outcomes = await Promise.all(commits.map((commit, index) => stores[index % 2]?.commit(commit)));
    expect([...outcomes].sort()).toEqual(['COMMITTED', ...Array(9).fill('STALE')]);
    const winner = outcomes.indexOf('COMMITTED');
    expect((await store.read('digits'))?.record).toEqual(recordOf('digits', { mark: winner }));
    expect(await effectsOf()).toEqual([effectOf(winner + 1)]);
  });

  it('handles an event once if it is delivered concurrently', async () => {
    const { store, connect } = opened();
    await store.create(record, []);
    const stores = [store, await connect()];
    const commit = changeOf(await revisionOf(), { eventId: 'e1', record, effects: [effectOf(1)] });
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => stores[index % 2]?.commit(commit)));
    expect(outcomes.filter((outcome) => outcome === 'COMMITTED')).toHaveLength(1);
    expect(await effectsOf()).toEqual([effectOf(1)]);
  });

  it('creates a record once if it is submitted concurrently', async () => {
    const { store, connect } = opened();
    const stores = [store, await connect()];
    const creating = Array.from({ length: 10 }, (_, index) =>
      stores[index % 2]?.create(recordOf('digits', { createdAt: index }), [effectOf(index + 1)]),
    );
    const outcomes = await Promise.all(creating);
    expect([...outcomes].sort()).toEqual(['CREATED', ...Array(9).fill('EXISTS')]);
    const winner = outcomes.indexOf('CREATED');
    expect((await store.read('digits'))?.record.createdAt).toBe(winner);
    expect(await effectsOf()).toEqual([effectOf(winner + 1)]);
  });
}
