import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { PARALLEL_TRIALS_MAX } from '#shared/tuning/trial.ts';
import type { TuningIn } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import {
  closedTuning,
  runningTrial,
  STUDY,
  searchingTuning,
  succeededTrial,
} from '../support/domain/example-tuning.ts';

const tuning = searchingTuning();

/** The contract of every TuningStore. */
export function describeTuningStoreContract(name: string, open: OpenStore<TuningStore>): void {
  describe(`${name} as a tuning store`, () => {
    let opened: StoreUnderTest<TuningStore>;
    let store: TuningStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describeCreation(() => store);
    describeCommits(() => store);
    describeTrials(() => store);
    describeOutbox(() => store);
    describeLists(() => store);
    describeConnections(() => opened);
  });
}

function suggest(from: number): TuningEffect {
  return { type: 'SUGGEST', tuningId: 'digits', from, count: 1 };
}

function start(ordinal: number): TuningEffect {
  return { type: 'START_TRIAL', tuningId: 'digits', ordinal };
}

async function revisionOf(store: TuningStore, tuningId = 'digits'): Promise<number> {
  return (await store.read(tuningId))?.revision ?? Number.NaN;
}

async function outboxOf(store: TuningStore, tuningId = 'digits'): Promise<readonly TuningEffect[]> {
  return (await store.listOutbox(tuningId)).map(({ effect }) => effect);
}

function idsOf(tunings: readonly { readonly tuningId: string }[]): readonly string[] {
  return tunings.map(({ tuningId }) => tuningId);
}

function describeCreation(store: () => TuningStore): void {
  it('reads a tuning exactly as it was created', async () => {
    const full: TuningIn<'SEARCHING'> = {
      ...tuning,
      study: {
        ...STUDY,
        metrics: [
          { id: 'Genauigkeit “ü” 満員', goal: 'MINIMIZE' as const, safety: null },
          { id: 'b', goal: 'MAXIMIZE' as const, safety: { threshold: 0.5, safeTrialsFractionMin: 0.9 } },
        ] as const,
        earlyStopping: { rule: 'MEDIAN' as const, usesElapsedTime: true },
        stoppingConditions: {
          stopsRunningTrials: true,
          minimumRuntime: { maxMs: 1 },
          maximumRuntime: { endTime: '2026-12-01T00:00:00Z' },
          trialsMin: 1,
          trialsMax: 5,
          trialsWithoutProgressMax: null,
          withoutProgressMaxMs: 7,
        },
        parameters: [
          {
            id: 'optimizer',
            space: { kind: 'CATEGORICAL' as const, values: ['sgd', 'adam'] },
            scale: 'NONE' as const,
            children: [
              {
                parentValues: ['sgd'],
                parameter: {
                  id: 'momentum',
                  space: { kind: 'DISCRETE' as const, values: [0, 0.9] },
                  scale: 'LINEAR' as const,
                  children: [],
                },
              },
            ],
          },
        ],
      },
      resumes: ['earlier'],
      running: [{ ordinal: 1, jobId: 'digits_trial_1', since: 5, checkedAt: 5, isStopping: true, lostBefore: 0 }],
      best: { ordinal: 1, objective: -0.25, at: 9, afterTrials: 1 },
      bar: { steps: [1, 2], medians: [0.5, 1e-300], completedCount: 5 },
      rungs: [{ step: 3, reachedCount: 4, best: [0.1, 0.2] }],
      longestStep: 27,
      firstTrialAt: 4,
      failures: [{ kind: 'LOST', cause: { code: 'STOCKOUT', message: 'Full.', evidence: ['a'] }, count: 3 }],
    };
    expect(await store().create(full, [])).toBe('CREATED');
    expect((await store().read('digits'))?.tuning).toEqual(full);
  });

  it('returns undefined for a tuning that was never created, and commits nothing to it', async () => {
    expect(await store().read('digits')).toBeUndefined();
    const commit = { expectedRevision: 1, eventId: 'e1', tuning, trials: [runningTrial(1)], effects: [start(1)] };
    expect(await store().commit(commit)).toBe('STALE');
    expect(await store().read('digits')).toBeUndefined();
    expect(await store().readTrial('digits', 1)).toBeUndefined();
    expect(await store().listTuningsWithOutbox(10)).toEqual([]);
  });

  it('does not change an existing tuning or its outbox on create', async () => {
    await store().create(tuning, [suggest(1)]);
    const revision = await revisionOf(store());
    expect(await store().create({ ...tuning, createdAt: 9_000 }, [suggest(2)])).toBe('EXISTS');
    expect(await store().read('digits')).toEqual({ tuning, revision });
    expect(await outboxOf(store())).toEqual([suggest(1)]);
  });
}

function describeCommits(store: () => TuningStore): void {
  it('replaces the tuning, increases the revision, and writes trials and outbox with it', async () => {
    await store().create(tuning, []);
    const revision = await revisionOf(store());
    const next = { ...tuning, asked: null, suggestedCount: 2 };
    const trials = [runningTrial(1), runningTrial(2, { values: { rate: 1e-9, name: 'ü', units: 3 }, repeats: 1 })];
    const effects = [start(1), start(2)];
    expect(await store().commit({ expectedRevision: revision, eventId: 'e1', tuning: next, trials, effects })).toBe(
      'COMMITTED',
    );
    expect((await store().read('digits'))?.tuning).toEqual(next);
    expect(await revisionOf(store())).toBeGreaterThan(revision);
    expect(await store().listTrials('digits', { afterOrdinal: 0, countMax: 10 })).toEqual(trials);
    expect(await outboxOf(store())).toEqual(effects);
  });

  it('rejects a commit against an old revision without writing', async () => {
    await store().create(tuning, []);
    const expectedRevision = await revisionOf(store());
    await store().commit({ expectedRevision, eventId: 'e1', tuning, trials: [], effects: [] });
    const late = {
      expectedRevision,
      eventId: 'e2',
      tuning: { ...tuning, suggestedCount: 7 },
      trials: [runningTrial(7)],
      effects: [start(7)],
    };
    expect(await store().commit(late)).toBe('STALE');
    expect((await store().read('digits'))?.tuning).toEqual(tuning);
    expect(await store().readTrial('digits', 7)).toBeUndefined();
    expect(await outboxOf(store())).toEqual([]);
    expect(await store().commit({ ...late, expectedRevision: await revisionOf(store()) })).toBe('COMMITTED');
  });

  it('handles an event once, whatever its expected revision', async () => {
    await store().create(tuning, []);
    const first = { eventId: 'e1', tuning, trials: [runningTrial(1)], effects: [start(1)] };
    await store().commit({ ...first, expectedRevision: await revisionOf(store()) });
    const again = { ...first, trials: [runningTrial(2)], effects: [start(2)] };
    expect(await store().commit({ ...again, expectedRevision: 1 })).toBe('DUPLICATE');
    expect(await store().commit({ ...again, expectedRevision: await revisionOf(store()) })).toBe('DUPLICATE');
    expect(await store().readTrial('digits', 2)).toBeUndefined();
    expect(await outboxOf(store())).toEqual([start(1)]);
  });

  it('commits as many new trials as can run in parallel', async () => {
    await store().create(tuning, []);
    const ordinals = Array.from({ length: PARALLEL_TRIALS_MAX }, (_, index) => index + 1);
    const values = Object.fromEntries(ordinals.map((index) => [`parameter_${index}`, 'v'.repeat(80)]));
    const trials = ordinals.map((ordinal) => runningTrial(ordinal, { values }));
    const effects = ordinals.map(start);
    const expectedRevision = await revisionOf(store());
    const running = ordinals.map((ordinal) => ({
      ordinal,
      jobId: `digits_trial_${ordinal}`,
      since: 0,
      checkedAt: 0,
      isStopping: false,
      lostBefore: 0,
    }));
    const next = { ...tuning, suggestedCount: PARALLEL_TRIALS_MAX, running };
    expect(await store().commit({ expectedRevision, eventId: 'chosen-1', tuning: next, trials, effects })).toBe(
      'COMMITTED',
    );
    expect(await store().listTrials('digits', { afterOrdinal: 0, countMax: 500 })).toEqual(trials);
    expect(await outboxOf(store())).toEqual(effects);
  });
}

function describeTrials(store: () => TuningStore): void {
  it('replaces a trial, and reads every outcome exactly as written', async () => {
    const cause = causeOf('PROGRAM_FAILED', 'Zone “a” 🚧', ['line 1\nline 2', '']);
    const trials = [
      succeededTrial(1, -0.5),
      runningTrial(2, { outcome: { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: 'loss became NaN' } }),
      runningTrial(3, { outcome: { kind: 'FAILED', cause }, repeats: 2 }),
      runningTrial(4, { outcome: { kind: 'LOST', cause } }),
      succeededTrial(5, 0, {
        outcome: {
          kind: 'SUCCEEDED',
          furtherObjectives: [],
          objective: 0,
          final: { step: 0.5, elapsedMs: 1.5, values: { accuracy: 0, loss: 'NaN', b: '-Infinity' } },
          isStoppedEarly: true,
        },
      }),
    ];
    await store().create(tuning, []);
    for (const [eventId, written] of [
      ['e1', trials.map(({ ordinal }) => runningTrial(ordinal))],
      ['e2', trials],
    ] as const) {
      const expectedRevision = await revisionOf(store());
      await store().commit({ expectedRevision, eventId, tuning, trials: written, effects: [] });
    }
    expect(await store().listTrials('digits', { afterOrdinal: 0, countMax: 10 })).toEqual(trials);
    expect(await store().readTrial('digits', 3)).toEqual(trials[2]);
    expect(await store().readTrial('digits', 6)).toBeUndefined();
  });

  it('lists trials in the order of their ordinals, page by page, and no others', async () => {
    for (const tuningId of ['digits', 'digit', 'digits2']) {
      await store().create(searchingTuning({ tuningId }), []);
      const trials = [1, 2, 9, 10, 11, 99, 100, 1_000, 13_000].map((ordinal) => runningTrial(ordinal, { tuningId }));
      const expectedRevision = await revisionOf(store(), tuningId);
      const commit = { expectedRevision, eventId: 'e1', tuning: searchingTuning({ tuningId }), effects: [] };
      await store().commit({ ...commit, trials });
    }
    const page = async (afterOrdinal: number) =>
      (await store().listTrials('digits', { afterOrdinal, countMax: 4 })).map(({ ordinal }) => ordinal);
    expect(await page(0)).toEqual([1, 2, 9, 10]);
    expect(await page(10)).toEqual([11, 99, 100, 1_000]);
    expect(await page(1_000)).toEqual([13_000]);
    expect((await store().readTrial('digits', 9))?.tuningId).toBe('digits');
  });
}

function describeOutbox(store: () => TuningStore): void {
  it('lists outbox entries in commit order, with unique ids, more than nine too', async () => {
    const effects = Array.from({ length: 12 }, (_, index) => suggest(index + 1));
    await store().create(tuning, effects);
    const stop: TuningEffect = { type: 'STOP_TRIAL', tuningId: 'digits', ordinal: 1, how: 'STOP' };
    const update: TuningEffect = { type: 'JOB_UPDATE', jobId: 'digits', state: 'RUNNING', attempt: 0 };
    const expectedRevision = await revisionOf(store());
    await store().commit({ expectedRevision, eventId: 'e1', tuning, trials: [], effects: [stop, update, start(3)] });
    expect(await outboxOf(store())).toEqual([...effects, stop, update, start(3)]);
    expect(new Set((await store().listOutbox('digits')).map(({ entryId }) => entryId)).size).toBe(15);
  });

  it('marks an entry as published idempotently, and no other', async () => {
    await store().create(tuning, [suggest(1), suggest(2)]);
    await store().create(searchingTuning({ tuningId: 'other' }), [suggest(1)]);
    const [first] = await store().listOutbox('digits');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('unknown', 'none');
    expect(await outboxOf(store())).toEqual([suggest(2)]);
    expect(await outboxOf(store(), 'other')).toHaveLength(1);
  });

  it('lists the tunings with outbox entries, each once, up to a count', async () => {
    await store().create(tuning, [suggest(1), suggest(2)]);
    await store().create(searchingTuning({ tuningId: 'healthy' }), []);
    await store().create(searchingTuning({ tuningId: 'other' }), [suggest(1)]);
    expect([...(await store().listTuningsWithOutbox(10))].sort()).toEqual(['digits', 'other']);
    expect(await store().listTuningsWithOutbox(1)).toHaveLength(1);
    for (const { entryId } of await store().listOutbox('digits')) {
      await store().markPublished('digits', entryId);
    }
    expect(await store().listTuningsWithOutbox(10)).toEqual(['other']);
  });
}

function describeLists(store: () => TuningStore): void {
  it('lists due tunings, most overdue first, up to a count, and never a closed one', async () => {
    for (const wakeAt of [3_000, 1_000, 2_000, 4_000]) {
      await store().create(searchingTuning({ tuningId: `due_${wakeAt}`, wakeAt }), []);
    }
    expect(await store().listDue(999, 10)).toEqual([]);
    expect(await store().listDue(1_000, 10)).toEqual([{ tuningId: 'due_1000', wakeAt: 1_000 }]);
    expect(idsOf(await store().listDue(9_999, 2))).toEqual(['due_1000', 'due_2000']);
    await store().create(tuning, []);
    const expectedRevision = await revisionOf(store());
    await store().commit({ expectedRevision, eventId: 'e1', tuning: closedTuning(), trials: [], effects: [] });
    expect(idsOf(await store().listDue(Number.MAX_SAFE_INTEGER, 10))).not.toContain('digits');
    expect((await store().read('digits'))?.tuning).toEqual(closedTuning());
  });

  it('lists the newest tunings first, page by page, and skips none of the same millisecond', async () => {
    const created = [
      ['b', 2_000],
      ['c', 1_000],
      ['a', 2_000],
      ['d', 3_000],
    ] as const;
    for (const [tuningId, createdAt] of created) {
      await store().create(searchingTuning({ tuningId, createdAt }), []);
    }
    expect(idsOf(await store().list({ countMax: 2 }))).toEqual(['d', 'a']);
    expect(idsOf(await store().list({ countMax: 5, after: { createdAt: 2_000, jobId: 'a' } }))).toEqual(['b', 'c']);
  });
}

function describeConnections(opened: () => StoreUnderTest<TuningStore>): void {
  it('shares tuning, trials, handled events, outbox and deadlines with another connection', async () => {
    const { store, connect } = opened();
    await store.create(tuning, [suggest(1)]);
    const commit = {
      expectedRevision: await revisionOf(store),
      eventId: 'e1',
      tuning: { ...tuning, suggestedCount: 1 },
      trials: [runningTrial(1)],
      effects: [start(1)],
    };
    await store.commit(commit);
    const other = await connect();
    expect(await other.read('digits')).toEqual(await store.read('digits'));
    expect(await other.readTrial('digits', 1)).toEqual(runningTrial(1));
    expect(await other.listOutbox('digits')).toEqual(await store.listOutbox('digits'));
    expect(await other.listTuningsWithOutbox(10)).toEqual(['digits']);
    expect(idsOf(await other.listDue(tuning.wakeAt, 10))).toEqual(['digits']);
    expect(await other.commit({ ...commit, expectedRevision: await revisionOf(other) })).toBe('DUPLICATE');
  });

  it('accepts exactly one of many concurrent commits at the same revision, with its trials', async () => {
    const { store, connect } = opened();
    await store.create(tuning, []);
    const stores = [store, await connect()];
    const expectedRevision = await revisionOf(store);
    const commits = Array.from({ length: 10 }, (_, index) => ({
      expectedRevision,
      eventId: `e${index}`,
      tuning: { ...tuning, suggestedCount: index },
      trials: [runningTrial(1, { values: { rate: index } })],
      effects: [start(index + 1)],
    }));
    const outcomes = await Promise.all(commits.map((commit, index) => stores[index % 2]?.commit(commit)));
    expect([...outcomes].sort()).toEqual(['COMMITTED', ...Array(9).fill('STALE')]);
    const winner = outcomes.indexOf('COMMITTED');
    expect((await store.read('digits'))?.tuning.suggestedCount).toBe(winner);
    expect((await store.readTrial('digits', 1))?.values).toEqual({ rate: winner });
    expect(await outboxOf(store)).toEqual([start(winner + 1)]);
  });

  it('creates a tuning once if it is submitted concurrently', async () => {
    const { store, connect } = opened();
    const stores = [store, await connect()];
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        stores[index % 2]?.create({ ...tuning, createdAt: index }, [suggest(index + 1)]),
      ),
    );
    expect([...outcomes].sort()).toEqual(['CREATED', ...Array(9).fill('EXISTS')]);
    expect(await outboxOf(store)).toEqual([suggest(outcomes.indexOf('CREATED') + 1)]);
  });
}
