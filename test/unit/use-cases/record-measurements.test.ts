import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { JobIn, TrialRef } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE } from '#shared/domain/replica.ts';
import type { EarlyStopping } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Topic } from '#shared/ports/message-bus.ts';
import { type Heartbeat, heartbeatSchema } from '#shared/protocol/heartbeat.ts';
import { medianBarOf } from '#shared/tuning/stopping/median-rule.ts';
import type { Measurement } from '#shared/tuning/trial.ts';
import type { TuningIn } from '#shared/tuning/tuning.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { noLog } from '../../support/collected-log.ts';
import { INSTANCE, jobAfter, PLACEMENT, queuedJob } from '../../support/domain/example-job.ts';
import { searchingTuning } from '../../support/domain/example-tuning.ts';
import { curveOf, MEDIAN, studyOf } from '../../support/tuning/example-curve.ts';
import { withUpdates } from '../../support/use-cases/updates.ts';

const TRIAL: TrialRef = { tuningId: 'search', ordinal: 7, metricIds: ['loss', 'seconds'] };
const ASHA: EarlyStopping = { rule: 'ASHA' };
const RAN_AT = 60_000;
const NOW = 1_000_000;

let database: Database;
let calls: string[];
let published: (readonly [Topic, object])[];
let sequence: number;

beforeEach(() => {
  database = openDatabase(':memory:');
  [calls, published, sequence] = [[], [], 0];
});

afterEach(() => database.close());

function openPorts() {
  const replicas = openSqliteReplicaStore(database);
  const curves = openSqliteCurveStore(database);
  const tunings = openSqliteTuningStore(database);
  const jobs = openSqliteJobStore(database);
  return withUpdates({
    jobs: {
      ...jobs,
      commit(change: Parameters<typeof jobs.commit>[0]) {
        calls.push(`commit ${change.eventId}`);
        return jobs.commit(change);
      },
    },
    replicas: {
      ...replicas,
      record(replica: Parameters<typeof replicas.record>[0]) {
        calls.push('record replica');
        return replicas.record(replica);
      },
    },
    curves: {
      ...curves,
      read(...id: Parameters<typeof curves.read>) {
        calls.push(`read curve ${id.join(' ')}`);
        return curves.read(...id);
      },
      write(...change: Parameters<typeof curves.write>) {
        calls.push('write curve');
        return curves.write(...change);
      },
    },
    tunings: {
      ...tunings,
      read(tuningId: string) {
        calls.push(`read tuning ${tuningId}`);
        return tunings.read(tuningId);
      },
    },
    bus: {
      async publish(topic: Topic, data: object) {
        calls.push(`publish ${topic}`);
        published.push([topic, data]);
        return 'id';
      },
    },
    timeouts: TIMEOUTS,
    deploymentKey: openSqliteDeploymentKey(database),
    logger: noLog,
  });
}

/** A trial whose program runs since RAN_AT. */
function runningJob(facts: Partial<JobIn<'RUNNING'>> = {}): JobIn<'RUNNING'> {
  const job = jobAfter(
    { ...queuedJob({ maxRunningMs: 36_000_000 }), trial: TRIAL },
    ['PLACEMENT_CHOSEN', 1_000],
    ['VMS_CREATED', 2_000],
    ['REPLICA_STARTED', RAN_AT],
  );
  if (job.status !== 'RUNNING') {
    throw new Error(`The job is ${job.status}.`);
  }
  return { ...job, ...facts };
}

async function createTrial(job: JobIn<'RUNNING'>, facts: Partial<TuningIn<'SEARCHING'>> = {}) {
  const ports = openPorts();
  await ports.jobs.create(job, []);
  const running = [{ ordinal: 7, jobId: job.jobId, since: 0, isStopping: false, checkedAt: 0, lostBefore: 0 }];
  await ports.tunings.create(searchingTuning({ tuningId: 'search', study: studyOf(null), running, ...facts }), []);
  return ports;
}

function losses(...values: readonly number[]): Measurement[] {
  return values.map((loss, index) => ({ step: index + 1, elapsedMs: (index + 1) * 1_000, values: { loss } }));
}

async function send(
  ports: ReturnType<typeof openPorts>,
  measurements: readonly unknown[],
  facts: Partial<Heartbeat> = {},
) {
  sequence += 1;
  const heartbeat = heartbeatSchema.parse({
    protocol: 2,
    jobId: 'digits',
    attempt: 1,
    role: 'master',
    index: 0,
    sequence,
    phase: 'RUNNING',
    usage: { ...NO_USAGE, gpus: [] },
    progress: { ...NO_PROGRESS, metrics: {} },
    exit: null,
    ...(measurements.length > 0 && { measurements }),
    ...facts,
  });
  const vmName = vmNameOf('digits', heartbeat.attempt, heartbeat);
  return recordHeartbeat(ports, heartbeat, {
    vmName,
    zone: PLACEMENT.zone,
    instanceId: INSTANCE.instanceId,
    serviceAccount: null,
    at: NOW,
  });
}

const EXITED: Partial<Heartbeat> = {
  phase: 'EXITED',
  exit: { reason: 'EXITED', exitCode: 0, signal: null, message: 'Ended.', evidence: [] },
};

/** Five completed trials of 100 steps whose losses were 0.5 at each. */
const BAR = medianBarOf(
  Array.from({ length: 5 }, () => curveOf(Array.from({ length: 100 }, () => 0.5))),
  studyOf(MEDIAN),
);
const MEDIAN_TUNING = { study: studyOf(MEDIAN), bar: BAR, longestStep: 100 };
type Change = {
  readonly job?: Partial<JobIn<'RUNNING'>>;
  readonly tuning?: Partial<TuningIn<'SEARCHING'>>;
  readonly heartbeat?: Partial<Heartbeat>;
};

/** Eleven steps, since the first ten decide nothing. */
const BEHIND = losses(...Array.from({ length: 11 }, () => 0.9));

describe('the measurements of a heartbeat', () => {
  it('are added to the curve of the trial', async () => {
    const ports = await createTrial(runningJob());
    expect(await send(ports, losses(0.9, 0.8))).toEqual({ command: 'CONTINUE', reason: null });
    await send(ports, losses(0.9, 0.8, 0.7).slice(1));
    expect(await ports.curves.read('search', 7)).toEqual(curveOf([0.9, 0.8, 0.7], { tuningId: 'search', ordinal: 7 }));
  });

  it.each([
    ['the later one first', losses(0.9, 0.8, 0.7), losses(0.9)],
    ['the earlier one first', losses(0.9), losses(0.9, 0.8, 0.7)],
  ])('are all in the curve if two heartbeats are handled at once, %s', async (_order, ...reports) => {
    const ports = await createTrial(runningJob());
    await Promise.all(reports.map((report) => send(ports, report)));
    expect(await ports.curves.read('search', 7)).toEqual(curveOf([0.9, 0.8, 0.7], { tuningId: 'search', ordinal: 7 }));
  });

  it('are stored before the exit of the same heartbeat is recorded and reported', async () => {
    const ports = await createTrial(runningJob());
    calls.length = 0;
    await send(ports, losses(0.9), EXITED);
    expect(calls.indexOf('write curve')).toBeGreaterThan(-1);
    expect(calls.indexOf('record replica')).toBeGreaterThan(calls.indexOf('write curve'));
    expect(calls.findIndex((call) => call.startsWith('commit exited'))).toBeGreaterThan(
      calls.indexOf('record replica'),
    );
  });

  it('continue the running time of earlier attempts', async () => {
    const ports = await createTrial(runningJob({ ranMs: 40_000 }));
    await send(ports, losses(0.9));
    expect((await ports.curves.read('search', 7))?.points[0]?.elapsedMs).toBe(41_000);
  });

  it('cost an ordinary job nothing, even if its VM sends some', async () => {
    const ports = await createTrial(runningJob({ trial: null }));
    calls.length = 0;
    await send(ports, losses(0.9));
    expect(calls).toEqual(['record replica']);
  });

  it('cost a trial nothing if there are none', async () => {
    const ports = await createTrial(runningJob(), MEDIAN_TUNING);
    calls.length = 0;
    await send(ports, []);
    expect(calls).toEqual(['record replica']);
  });

  it('cost a trial that stops early one read of its curve, one of its tuning and a write', async () => {
    const ports = await createTrial(runningJob(), MEDIAN_TUNING);
    calls.length = 0;
    await send(ports, losses(0.1));
    expect(calls).toEqual(['read curve search 7', 'read tuning search', 'write curve', 'record replica']);
    calls.length = 0;
    await send(ports, losses(0.1));
    expect(calls).not.toContain('write curve');
  });
});

describe('measurements that a VM must not send', () => {
  it('of another attempt stop it', async () => {
    const ports = await createTrial(runningJob());
    expect(await send(ports, losses(0.9), { attempt: 2 })).toMatchObject({ command: 'STOP' });
    expect(await ports.curves.read('search', 7)).toBeUndefined();
  });

  it('of metrics that are not the study’s are dropped', async () => {
    const ports = await createTrial(runningJob());
    const values = JSON.parse('{"loss":0.5,"other":1,"__proto__":2}');
    await send(ports, [
      { step: 1, elapsedMs: 1, values },
      { step: 2, elapsedMs: 2, values: { other: 1 } },
    ]);
    expect((await ports.curves.read('search', 7))?.points).toEqual([{ step: 1, elapsedMs: 1, values: { loss: 0.5 } }]);
  });

  it('of impossible steps and times are limited', async () => {
    const ports = await createTrial(runningJob());
    const point = (step: number) => ({ step, elapsedMs: 1e300, values: { loss: 0.5 } });
    await send(ports, [point(-1e300), point(1e300)]);
    const elapsedMs = NOW - runningJob().placedAt;
    expect((await ports.curves.read('search', 7))?.points).toEqual([
      { ...point(0), elapsedMs },
      { ...point(Number.MAX_SAFE_INTEGER), elapsedMs },
    ]);
  });

  it('by a replica other than the master are ignored', async () => {
    const worker = { role: 'worker', index: 0 } as const;
    const job = runningJob();
    const instance = { ...worker, vmName: vmNameOf('digits', 1, worker), instanceId: INSTANCE.instanceId };
    const ports = await createTrial({ ...job, instances: [...job.instances, instance] });
    await send(ports, losses(0.9), worker);
    expect(await ports.curves.read('search', 7)).toBeUndefined();
    await send(ports, losses(0.9));
    expect(await ports.curves.read('search', 7)).toBeDefined();
  });

  it('are at most 50 a heartbeat, of finite numbers', () => {
    const schema = heartbeatSchema.shape.measurements;
    const one = { step: 1, elapsedMs: 1, values: { loss: 1 } };
    expect(schema.safeParse(Array.from({ length: 51 }, () => one)).success).toBe(false);
    expect(schema.safeParse([{ ...one, step: Number.POSITIVE_INFINITY }]).success).toBe(false);
    expect(schema.safeParse([{ ...one, elapsedMs: -1 }]).success).toBe(false);
    expect(schema.safeParse([{ ...one, values: { ['n'.repeat(129)]: 1 } }]).success).toBe(false);
  });
});

describe('a trial that is behind the bar of the median rule', () => {
  it('is told to stop, by the same heartbeat and by all later ones', async () => {
    const ports = await createTrial(runningJob(), MEDIAN_TUNING);
    const reason = 'Trial 7 of tuning search is stopped early. Its outputs are saved.';
    expect(await send(ports, BEHIND)).toEqual({ command: 'STOP', reason, isEarlyStop: true });
    expect(await send(ports, [])).toEqual({ command: 'STOP', reason, isEarlyStop: true });
    expect((await ports.jobs.read('digits'))?.record).toMatchObject({ status: 'RUNNING', stopRequestedAt: NOW });
  });

  it('is stopped by a repeated heartbeat if the first one was lost after its curve was written', async () => {
    const ports = await createTrial(runningJob(), MEDIAN_TUNING);
    await ports.curves.write(
      curveOf(
        Array.from({ length: 11 }, () => 0.9),
        { ordinal: 7 },
      ),
      undefined,
    );
    expect(await send(ports, BEHIND)).toMatchObject({ command: 'STOP' });
  });

  it.each<readonly [string, Change]>([
    ['if the study does not stop early', { tuning: { study: studyOf(null) } }],
    ['if there is no bar yet', { tuning: { bar: null } }],
    ['if it is being stopped already', { tuning: { running: [] } }],
    ['by the first heartbeat that says that it saves its outputs', { heartbeat: { phase: 'UPLOADING' } }],
    ['by a late heartbeat of its program while it saves its outputs', { job: { uploadingAt: 5 } }],
    ['in its exit report', { heartbeat: EXITED }],
  ])('is not stopped %s', async (_when, { job, tuning, heartbeat }) => {
    const ports = await createTrial(runningJob(job), { ...MEDIAN_TUNING, ...tuning });
    await send(ports, BEHIND, heartbeat);
    expect(calls.filter((call) => call.startsWith('commit stop'))).toEqual([]);
  });

  it('is not stopped by a rule of another study', async () => {
    const ports = await createTrial(runningJob(), { ...MEDIAN_TUNING, study: studyOf(ASHA) });
    expect(await send(ports, BEHIND)).toEqual({ command: 'CONTINUE', reason: null });
  });
});

describe('a trial that reaches a rung of ASHA', () => {
  const rung = (step: number, value: number) => [
    'tuning',
    { type: 'REPORT_RUNG', tuningId: 'search', ordinal: 7, step, value },
  ];

  it('reports it once, before its curve is written', async () => {
    const ports = await createTrial(runningJob(), { study: studyOf(ASHA), longestStep: 27 });
    calls.length = 0;
    await send(ports, losses(0.9, 0.7, 0.8));
    await send(ports, losses(0.9, 0.7, 0.8, 0.6));
    expect(published).toEqual([rung(3, 0.7)]);
    expect(calls.indexOf('publish tuning')).toBeLessThan(calls.indexOf('write curve'));
  });

  it('reports it in its exit, too, since others are compared with it', async () => {
    const ports = await createTrial(runningJob(), { study: studyOf(ASHA), longestStep: 27 });
    await send(ports, losses(0.9, 0.7, 0.8), EXITED);
    expect(published).toContainEqual(rung(3, 0.7));
  });

  it('does not report it after it was stopped', async () => {
    const ports = await createTrial(runningJob({ stopRequestedAt: 5 }), { study: studyOf(ASHA), longestStep: 27 });
    await send(ports, losses(0.9, 0.7, 0.8));
    expect(published).toEqual([]);
  });

  it('derives the rungs from the steps that it announces until a trial has completed', async () => {
    const ports = await createTrial(runningJob(), { study: studyOf(ASHA) });
    await send(ports, losses(0.9, 0.8));
    const progress = { ...NO_PROGRESS, metrics: {}, stepsMax: 27 };
    await send(ports, losses(0.9, 0.8, 0.7), { progress });
    expect(published).toEqual([rung(3, 0.7)]);
  });
});
