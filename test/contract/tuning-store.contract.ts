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
import { describeRecordStoreContract } from './record-store.contract.ts';

const tuning = searchingTuning();

/** The contract of every TuningStore. */
export function describeTuningStoreContract(name: string, open: OpenStore<TuningStore>): void {
  describeRecordStoreContract(`${name} as a store of tunings`, open, {
    recordOf: (tuningId, { mark = 1, ...given } = {}) => searchingTuning({ tuningId, suggestedCount: mark, ...given }),
    closedOf: (tuningId) => ({ ...closedTuning(), tuningId }),
    effectOf: start,
    facts: { trials: [] },
  });
  describe(`${name} as a store of tunings and their trials`, () => {
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
    describeConnections(() => opened);
  });
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
    expect((await store().read('digits'))?.record).toEqual(full);
  });
}

function describeCommits(store: () => TuningStore): void {
  it('writes trials with the tuning, and none if the commit is rejected', async () => {
    const first = { eventId: 'e1', record: tuning, trials: [runningTrial(1)], effects: [] };
    expect(await store().commit({ ...first, expectedRevision: 1 })).toBe('STALE');
    await store().create(tuning, []);
    const expectedRevision = await revisionOf(store());
    expect(await store().commit({ ...first, expectedRevision })).toBe('COMMITTED');
    const late = { ...first, expectedRevision, trials: [runningTrial(2)] };
    expect(await store().commit(late)).toBe('DUPLICATE');
    expect(await store().commit({ ...late, eventId: 'e2' })).toBe('STALE');
    expect(await store().listTrials('digits', { afterOrdinal: 0, countMax: 10 })).toEqual(first.trials);
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
    expect(await store().commit({ expectedRevision, eventId: 'chosen-1', record: next, trials, effects })).toBe(
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
      await store().commit({ expectedRevision, eventId, record: tuning, trials: written, effects: [] });
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
      const commit = { expectedRevision, eventId: 'e1', record: searchingTuning({ tuningId }), effects: [] };
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

function describeConnections(opened: () => StoreUnderTest<TuningStore>): void {
  it('accepts exactly one of many concurrent commits at the same revision, with its trials', async () => {
    const { store, connect } = opened();
    await store.create(tuning, []);
    const stores = [store, await connect()];
    const expectedRevision = await revisionOf(store);
    const commits = Array.from({ length: 10 }, (_, index) => ({
      expectedRevision,
      eventId: `e${index}`,
      record: { ...tuning, suggestedCount: index },
      trials: [runningTrial(1, { values: { rate: index } })],
      effects: [start(index + 1)],
    }));
    const outcomes = await Promise.all(commits.map((commit, index) => stores[index % 2]?.commit(commit)));
    expect([...outcomes].sort()).toEqual(['COMMITTED', ...Array(9).fill('STALE')]);
    const winner = outcomes.indexOf('COMMITTED');
    expect((await store.read('digits'))?.record.suggestedCount).toBe(winner);
    expect((await store.readTrial('digits', 1))?.values).toEqual({ rate: winner });
    expect(await outboxOf(store)).toEqual([start(winner + 1)]);
  });
}
