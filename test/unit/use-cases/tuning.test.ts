import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { COMMIT_TRIES_MAX } from '#shared/machine/machine.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import { handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';
import { reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';
import { openTuning, type TuningUnderTest } from '../../support/use-cases/tuning-under-test.ts';

let world: TuningUnderTest;

beforeEach(() => {
  world = openTuning();
});
afterEach(() => world.close());

const listTrials = (): Promise<readonly Trial[]> =>
  world.ports.tunings.listTrials('digits', { afterOrdinal: 0, countMax: 500 });

async function runningOrdinals(): Promise<readonly number[]> {
  return (await world.tuning()).running.map(({ ordinal }) => ordinal);
}

/** The messages of a topic that are published and not delivered. */
function publishedTo(topic: string): readonly object[] {
  return world.published.filter((message) => message.topic === topic).map(({ data }) => data);
}

const SUGGEST = { type: 'SUGGEST', tuningId: 'digits', from: 1, count: 2 } as const;
const REPORT = { type: 'REPORT_TRIAL', jobId: 'digits_trial_1', tuningId: 'digits', ordinal: 1 } as const;

/** Creates the tuning and starts its first two trials. */
async function startTwo(): Promise<void> {
  await world.create();
  await world.deliverAll();
}

describe('a suggestion request', () => {
  it('commits the values of all trials that it asks for, before any of them starts', async () => {
    await world.create();
    expect(publishedTo('tuning')).toEqual([SUGGEST]);
    await world.deliver(SUGGEST);
    expect((await listTrials()).map(({ ordinal, jobId }) => [ordinal, jobId])).toEqual([
      [1, 'digits_trial_1'],
      [2, 'digits_trial_2'],
    ]);
    expect(await world.jobOf(1)).toBeUndefined();
    expect(publishedTo('tuning').slice(1)).toEqual([
      { type: 'START_TRIAL', tuningId: 'digits', ordinal: 1 },
      { type: 'START_TRIAL', tuningId: 'digits', ordinal: 2 },
    ]);
  });

  it('that is delivered again, or late, changes nothing', async () => {
    await startTwo();
    const before = [await world.tuning(), await listTrials()];
    await world.deliver(SUGGEST);
    expect([await world.tuning(), await listTrials()]).toEqual(before);
    await world.deliver({ ...SUGGEST, from: 3 });
    await world.deliver({ ...SUGGEST, tuningId: 'unknown' });
    expect([await world.tuning(), await listTrials()]).toEqual(before);
  });

  it('knows the results of earlier trials, and the values of those that run', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.1, 0.9] });
    await world.deliver(REPORT);
    await world.deliverAll();
    const rates = (await listTrials()).map(({ values }) => values.rate);
    expect(rates).toHaveLength(3);
    expect(new Set(rates).size).toBe(3);
  });

  it('is answered after a crash at any call, once', async () => {
    for (const crash of ['tunings.commit', 'tunings.listTrials', 'bus.publish', 'tunings.markPublished']) {
      using scope = new DisposableStack();
      const other = openTuning();
      scope.defer(() => other.close());
      await other.create();
      other.state.crashesAt = (call) => call === crash;
      await expect(other.deliver(SUGGEST)).rejects.toThrow(`died before ${crash}`);
      other.state.crashesAt = () => false;
      await other.deliver(SUGGEST);
      await reconcile(other.ports, other.state.now);
      await other.deliverAll();
      expect((await other.tuning()).running.map(({ ordinal }) => ordinal)).toEqual([1, 2]);
      expect(await other.jobOf(2), crash).toBeDefined();
    }
  });
});

describe('the start of a trial', () => {
  const START = { type: 'START_TRIAL', tuningId: 'digits', ordinal: 1 } as const;

  it('creates its job with the pinned packages of the tuning and the values of the trial, and provisions it', async () => {
    await startTwo();
    const [trial] = await listTrials();
    const job = await world.jobOf(1);
    expect(job).toMatchObject({ status: 'QUEUED', jobId: 'digits_trial_1', trial: { tuningId: 'digits', ordinal: 1 } });
    expect(job?.packages).toEqual((await world.tuning()).packages);
    expect(job?.spec.program.args).toEqual([`--rate=${trial?.values.rate}`]);
    expect(publishedTo('provision')).toHaveLength(2);
  });

  it('creates one job, however often it is delivered', async () => {
    await startTwo();
    const job = await world.jobOf(1);
    await world.deliver(START);
    expect(await world.jobOf(1)).toEqual(job);
    expect(publishedTo('provision')).toHaveLength(2);
  });

  it('publishes the request for VMs after a crash that followed the creation of the job', async () => {
    await world.create();
    await world.deliver(SUGGEST);
    world.state.crashesAt = (call) => call === 'bus.publish';
    await expect(world.deliver(START)).rejects.toThrow('died');
    world.state.crashesAt = () => false;
    expect(publishedTo('provision')).toEqual([]);
    await world.deliver(START);
    expect(publishedTo('provision')).toHaveLength(1);
  });

  it('reports a job that is closed, whose own report was lost', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.5] });
    world.published.length = 0;
    await world.deliver(START);
    expect((await listTrials())[0]?.outcome).toMatchObject({ kind: 'SUCCEEDED', objective: 0.5 });
  });

  it('cancels a job that the tuning does not wait for any more, and creates none that would run', async () => {
    await world.create();
    await world.deliver(SUGGEST);
    world.published.length = 0;
    await world.ports.tunings.commit({
      expectedRevision: 2,
      eventId: 'test',
      record: { ...(await world.tuning()), running: [] },
      trials: [],
      effects: [],
    });
    await world.deliver(START);
    expect(await world.jobOf(1)).toMatchObject({ verdict: { state: 'CANCELLED' } });
    expect(publishedTo('provision')).toEqual([]);
    expect(publishedTo('teardown')).toHaveLength(1);
  });
});

describe('a request to cancel a trial', () => {
  const CANCEL = { type: 'STOP_TRIAL', tuningId: 'digits', ordinal: 1, how: 'CANCEL' } as const;

  it('cancels its job, however often it is delivered, and reports its end if the report was lost', async () => {
    await startTwo();
    await world.deliver(CANCEL);
    await world.deliver(CANCEL);
    expect(await world.jobOf(1)).toMatchObject({ status: 'CLOSING', verdict: { state: 'CANCELLED' } });
    await world.happen(1, ['VMS_GONE']);
    world.published.length = 0;
    await world.deliver(CANCEL);
    expect(await runningOrdinals()).not.toContain(1);
    expect((await listTrials())[0]?.outcome).toMatchObject({ kind: 'LOST', cause: { code: 'TRIAL_CANCELLED' } });
  });

  it('that overtakes the start leaves a cancelled job, which the start does not replace', async () => {
    await world.create();
    await world.deliver(SUGGEST);
    await world.deliver(CANCEL);
    await world.deliver({ type: 'START_TRIAL', tuningId: 'digits', ordinal: 1 });
    expect(await world.jobOf(1)).toMatchObject({ status: 'CLOSING', verdict: { state: 'CANCELLED' } });
    expect(publishedTo('provision')).toEqual([]);
  });
});

describe('the end of a trial', () => {
  it('is counted once with its objective and its cost, however often it is reported', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.2, 0.8] });
    await world.deliver(REPORT);
    const { spentUsd } = await world.tuning();
    await world.deliver(REPORT);
    expect(await world.tuning()).toMatchObject({
      counts: { succeeded: 1 },
      best: { ordinal: 1, objective: 0.8 },
      spentUsd,
    });
    expect(spentUsd).toBeGreaterThan(0);
    expect((await listTrials())[0]).toMatchObject({ costUsd: spentUsd, outcome: { final: { step: 1 } } });
  });

  it('is counted at once with as many others as the function handles together', async () => {
    using scope = new DisposableStack();
    const other = openTuning({ parallelTrialsMax: COMMIT_TRIES_MAX });
    scope.defer(() => other.close());
    await other.create();
    await other.deliverAll();
    const ordinals = Array.from({ length: COMMIT_TRIES_MAX }, (_, index) => index + 1);
    for (const ordinal of ordinals) {
      await other.endTrial(ordinal, { accuracies: [ordinal / 10] });
    }
    await Promise.all(
      ordinals.map((ordinal) => other.deliver({ ...REPORT, jobId: `digits_trial_${ordinal}`, ordinal })),
    );
    expect(await other.tuning()).toMatchObject({ counts: { succeeded: 8 }, best: { ordinal: 8 } });
  });

  it('is not reported before the job is closed', async () => {
    await startTwo();
    await world.deliver(REPORT);
    expect(await runningOrdinals()).toEqual([1, 2]);
  });

  it('is kept by the tuning if the process dies between commit and publication: the reconciler asks for the next', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.2] });
    world.published.length = 0;
    world.state.crashesAt = (call) => call === 'bus.publish';
    await expect(world.deliver(REPORT)).rejects.toThrow('died');
    world.state.crashesAt = () => false;
    expect(publishedTo('tuning')).toEqual([]);
    await reconcile(world.ports, world.state.now);
    await world.deliverAll();
    expect(await runningOrdinals()).toEqual([2, 3]);
  });

  it('without the metric names those that the program reported', async () => {
    await startTwo();
    await world.ports.replicas.record({
      ...exampleReplica(),
      jobId: 'digits_trial_1',
      progress: { step: 1, stepsMax: null, metrics: { acuracy: 0.5, loss: 1 } },
    });
    await world.endTrial(1);
    await world.deliver(REPORT);
    expect((await listTrials())[0]?.outcome).toMatchObject({
      kind: 'INFEASIBLE',
      reason: 'METRIC_MISSING',
      message: expect.stringMatching(/"acuracy".*"loss"/),
    });
  });

  it('by a failure of the machine is tried again with the same values, and not told to the optimizer', async () => {
    await startTwo();
    const [first] = await listTrials();
    await world.endTrial(1, { cause: causeOf('INTERNAL_ERROR', 'It broke.') });
    await world.deliver(REPORT);
    const trials = await listTrials();
    expect(trials[0]?.outcome?.kind).toBe('LOST');
    expect(trials.find(({ repeats }) => repeats === 1)?.values).toEqual(first?.values);
  });
});

describe('a message about a trial that no delivery could handle', () => {
  const letter = (body: object) => {
    const data = Buffer.from(JSON.stringify(body));
    return { topic: 'tuning', messageId: '7', tries: 'many', data };
  };
  const START = { type: 'START_TRIAL', tuningId: 'digits', ordinal: 1 } as const;
  const unused = { objects: {} as ObjectStore, intake: { uploadBucket: 'uploads' } };

  it('makes the trial lost if its job was never created, so that its values are tried again', async () => {
    await world.create();
    await world.deliver(SUGGEST);
    await handleDeadLetter({ ...world.ports, ...unused }, letter(START), world.state.now);
    expect(await runningOrdinals()).toEqual([2, 3]);
    expect((await listTrials())[0]?.outcome).toMatchObject({ kind: 'LOST', cause: { code: 'INTERNAL_ERROR' } });
  });

  it('reports the end of a closed job once more', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.2] });
    await handleDeadLetter({ ...world.ports, ...unused }, letter(REPORT), world.state.now);
    expect((await listTrials())[0]?.outcome).toMatchObject({ kind: 'SUCCEEDED', objective: 0.2 });
  });

  it('makes the trial lost, with its cost, if its end cannot be reported', async () => {
    await startTwo();
    await world.endTrial(1, { accuracies: [0.2] });
    const read = () => Promise.reject(new Error('The curve is not readable.'));
    const ports = { ...world.ports, ...unused, curves: { ...world.ports.curves, read } };
    await handleDeadLetter(ports, letter(REPORT), world.state.now);
    const [first] = await listTrials();
    expect(first?.outcome).toMatchObject({ kind: 'LOST', cause: { code: 'INTERNAL_ERROR' } });
    expect(JSON.stringify(first?.outcome)).toContain('The curve is not readable.');
    expect(first?.costUsd).toBeGreaterThan(0);
  });

  it('leaves no job of a trial that became lost while its job was created', async () => {
    await world.create();
    await world.deliver(SUGGEST);
    const { create } = world.ports.jobs;
    Object.assign(world.ports.jobs, {
      async create(...input: Parameters<typeof create>) {
        await handleDeadLetter({ ...world.ports, ...unused }, letter(START), world.state.now);
        return create(...input);
      },
    });
    await world.deliver(START);
    expect(await world.jobOf(1)).toMatchObject({ verdict: { state: 'CANCELLED' } });
  });

  it('changes nothing while its job runs', async () => {
    await startTwo();
    await handleDeadLetter({ ...world.ports, ...unused }, letter(START), world.state.now);
    expect(await runningOrdinals()).toEqual([1, 2]);
  });
});

describe('the bar of the median rule', () => {
  beforeEach(() => {
    world.close();
    const earlyStopping = { rule: 'MEDIAN', usesElapsedTime: false } as const;
    world = openTuning({ earlyStopping, trialsMax: 200, parallelTrialsMax: 1, algorithm: 'RANDOM' });
  });

  /** Runs one trial after the other; returns the numbers of curves that were read. */
  async function runTrials(count: number): Promise<readonly number[]> {
    const { curves } = world.ports;
    const readMany = curves.readMany.bind(curves);
    const reads: number[] = [];
    Object.assign(curves, {
      readMany: (tuningId: string, ordinals: readonly number[]) => {
        reads.push(ordinals.length);
        return readMany(tuningId, ordinals);
      },
    });
    await startTwo();
    for (let ordinal = 1; ordinal <= count; ordinal += 1) {
      await world.endTrial(ordinal, { accuracies: [0.1, 0.2, 0.3] });
      await world.deliver({ type: 'REPORT_TRIAL', jobId: `digits_trial_${ordinal}`, tuningId: 'digits', ordinal });
      await world.deliverAll();
    }
    return reads;
  }

  it('is computed from the curves of completed trials as soon as there are five', async () => {
    await runTrials(4);
    expect((await world.tuning()).bar).toBeNull();
    await world.endTrial(5, { accuracies: [0.1, 0.2, 0.3] });
    await world.deliver({ type: 'REPORT_TRIAL', jobId: 'digits_trial_5', tuningId: 'digits', ordinal: 5 });
    expect((await world.tuning()).bar).toMatchObject({ completedCount: 5, steps: [0, 1, 2] });
  });

  it('is not computed again for each of many trials', async () => {
    const reads = await runTrials(120);
    expect(reads.length).toBeLessThan(100);
    expect((await world.tuning()).bar?.completedCount).toBeGreaterThanOrEqual(117);
  });

  it('is not computed again for each of more trials than it is computed from', async () => {
    const { curves } = world.ports;
    const { readMany } = curves;
    Object.assign(curves, {
      readMany: (tuningId: string, ordinals: readonly number[]) => readMany(tuningId, ordinals.slice(0, 5)),
    });
    expect((await runTrials(120)).length).toBeLessThan(100);
  });
});

describe('the reconciler', () => {
  it('asks again for values and for trials whose messages were lost', async () => {
    await world.create();
    world.published.length = 0;
    world.state.now += 3_600_000;
    await reconcile(world.ports, world.state.now);
    await world.deliver(publishedTo('tuning')[0] as typeof SUGGEST);
    world.published.length = 0;
    world.state.now += 24 * 3_600_000;
    await reconcile(world.ports, world.state.now);
    await world.deliverAll();
    expect(await world.jobOf(1)).toBeDefined();
    expect(await world.jobOf(2)).toBeDefined();
  });

  it('reads no tuning that is healthy', async () => {
    await startTwo();
    const reads: string[] = [];
    world.state.crashesAt = (call) => {
      reads.push(call);
      return false;
    };
    await reconcile(world.ports, world.state.now);
    expect(reads.filter((call) => call.startsWith('tunings.')).toSorted()).toEqual([
      'tunings.listDue',
      'tunings.listWithOutbox',
    ]);
  });
});
