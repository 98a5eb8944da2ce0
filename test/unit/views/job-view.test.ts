import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { HealthFinding } from '#shared/domain/health.ts';
import type { Job } from '#shared/domain/job.ts';
import type { PythonProgram } from '#shared/domain/job-spec.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { parseStoredReplica } from '#shared/protocol/stored-record.ts';
import { viewJob } from '#shared/views/job-view.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

const running = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 3_000]);
const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 4_000]);
const placedAgain = jobAfter(interrupted, ['PLACEMENT_CHOSEN', 5_000]);
const cancelled = jobAfter(running, ['CANCEL_REQUESTED', 4_000], ['VMS_GONE', 5_000]);

/** A replica that was training at its last heartbeat. */
function training(change: Partial<Replica> = {}): Replica {
  const progress = { step: 3, stepsMax: 10, metrics: { accuracy: 0.9 } };
  return { ...exampleReplica(), phase: 'RUNNING', heardAt: 3_500, progress, ...change };
}

const replicasOf = (job: Job, ...replicas: readonly Replica[]) => viewJob(job, replicas, 9_000).replicas;

it('shows the replicas of the current attempt only', () => {
  expect(replicasOf(running, training(), training({ attempt: 0 }))).toMatchObject([
    { attempt: 1, phase: 'RUNNING', cpuFraction: 0.5, step: 3 },
  ]);
  const second = jobAfter(placedAgain, ['VMS_CREATED', 6_000]);
  expect(replicasOf(second, training(), training({ attempt: 2, heardAt: 7_000 }))).toMatchObject([{ attempt: 2 }]);
});

it('shows no replicas of a QUEUED job or of an earlier placement', () => {
  expect(replicasOf(interrupted, training())).toEqual([]);
  expect(replicasOf(placedAgain, training({ attempt: 2, heardAt: 4_900 }))).toEqual([]);
});

describe('a cluster', () => {
  const [master] = queuedJob().spec.replicaGroups;
  const workers = { ...master, role: 'worker', count: 100 } as const;
  const spec = { ...queuedJob().spec, replicaGroups: [master, workers] as const };
  const cluster = jobAfter({ ...queuedJob(), spec }, ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000]);
  const names = ['master-0', ...Array.from({ length: 100 }, (_, index) => `worker-${index}`)];
  const records = names.map((replica) => training({ replica, ...(replica !== 'master-0' && { instanceId: replica }) }));

  it('shows its replicas by number, the master first, each with its role and index', () => {
    const shown = replicasOf(jobAfter(cluster, ['REPLICA_STARTED', 3_000]), ...records.toReversed());
    expect(shown.map(({ replica }) => replica)).toEqual(names);
    expect(shown[11]).toMatchObject({ replica: 'worker-10', role: 'worker', index: 10 });
  });

  it('shows the restarts, the exit code and the own cause of each', () => {
    const exit = { outcome: 'FAILED', cause: causeOf('PROGRAM_KILLED', 'The program was terminated.') } as const;
    const failing = training({ replica: 'worker-1', reboots: 2, exitCode: 137, phase: 'UPLOADING', pendingExit: exit });
    expect(replicasOf(cluster, training(), failing)).toMatchObject([
      { restarts: 0, exitCode: null, cause: null },
      { restarts: 2, exitCode: 137, cause: { code: 'PROGRAM_KILLED', message: 'The program was terminated.' } },
    ]);
  });

  it('warns once of workers that ended long before the master without an error, and of those that still run after it', () => {
    const succeeded = { outcome: 'SUCCEEDED' } as const;
    const early = (replica: string) => training({ replica, exit: succeeded, phase: 'EXITED', endedAt: 10_000 });
    const codesOf = (...shown: readonly Replica[]) => viewJob(cluster, shown, 9_000).warnings.map(({ code }) => code);

    const warnings = viewJob(
      cluster,
      [training({ heardAt: 610_000 }), early('worker-1'), early('worker-7')],
      9_000,
    ).warnings;
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'REPLICA_ENDED_EARLY',
        'The master runs on after worker-1 and worker-7 ended with exit code 0, 10 min or more before it.',
      ],
    ]);
    expect(codesOf(training({ heardAt: 609_000 }), early('worker-1'))).toEqual([]);
    expect(codesOf(training({ heardAt: 610_000 }), early('ps-0'))).toEqual([]);

    const ended = training({ phase: 'UPLOADING', pendingExit: succeeded, endedAt: 20_000 });
    expect(codesOf(ended, training({ replica: 'worker-1', heardAt: 30_000 }))).toEqual(['REPLICA_STILL_RUNNING']);
    expect(codesOf(ended, training({ replica: 'worker-1', heardAt: 29_000 }))).toEqual([]);
  });

  it('looks at every replica for files that are not saved, and for places of results', () => {
    const finding = { message: 'big/ will not be saved.', remedy: 'Name it.', evidence: [], since: 1, until: null };
    const leftOut = training({ replica: 'worker-3', health: [{ ...finding, code: 'OUTPUT_LEFT_OUT' }] });
    const nothing = training({ exit: { outcome: 'SUCCEEDED', savedNothing: true } });
    expect(viewJob(cluster, [nothing, leftOut], 9_000).warnings).toMatchObject([
      { code: 'OUTPUT_LEFT_OUT', message: 'worker-3: big/ will not be saved.' },
      { code: 'NOTHING_SAVED' },
    ]);
    const codesWith = (...args: readonly string[]) => {
      const program = { ...(spec.program as PythonProgram), args };
      const others = { ...spec, replicaGroups: [master, { ...workers, program }] as const };
      return viewJob({ ...cluster, spec: others }, [nothing], 9_000).warnings.map(({ code }) => code);
    };
    expect(codesWith('--export-dir=gs://models/a')).toEqual([]);
    expect(codesWith('--model_dir', '/gcs/models/a')).toEqual([]);
    expect(codesWith('--data', 'gs://data/a', '--model-dir=gs://jobs/digits/m')).toEqual(['NOTHING_SAVED']);
  });

  it('says what the programs that have started wait for until it runs, in one line', () => {
    const installing = records.map((one, index) => (index % 20 === 3 ? { ...one, phase: 'INSTALLING' as const } : one));
    expect(viewJob(cluster, installing, 9_000)).toMatchObject({
      state: 'PREPARING',
      waitingFor: {
        code: 'CLUSTER_STARTING',
        message:
          'worker-2, worker-22, worker-42 and 2 others are installing packages; ' +
          'master-0, worker-0, worker-1 and 93 others wait',
      },
    });
    expect(viewJob(cluster, records, 9_000).waitingFor).toBeNull();
    expect(viewJob(cluster, [], 9_000).waitingFor).toBeNull();
  });
});

it('shows the progress of a closed job’s replicas, without usage', () => {
  expect(replicasOf(cancelled, training())).toMatchObject([
    { phase: 'EXITED', cpuFraction: null, memoryBytes: null, diskBytes: null, gpus: [], metrics: { accuracy: 0.9 } },
  ]);
});

it('shows the reason for waiting only while the job waits, and not the cause of an ended attempt', () => {
  const failed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['PLACEMENT_FAILED', 2_000]);
  const created = jobAfter(failed, ['PLACEMENT_CHOSEN', 3_000], ['VMS_CREATED', 4_000]);
  const waits = (job: Job) => viewJob(job, [], 9_000).waitingFor?.code ?? null;

  expect([failed, created].map(waits)).toEqual(['STOCKOUT', null]);
  expect([interrupted, placedAgain].map(waits)).toEqual([null, null]);
});

it('shows the interruption that caused a backoff', () => {
  const again = jobAfter(placedAgain, ['VMS_CREATED', 6_000], ['ATTEMPT_INTERRUPTED', 7_000]);
  expect(viewJob(again, [], 9_000)).toMatchObject({ state: 'QUEUED', waitingFor: { code: 'PREEMPTED' } });
});

it('shows metrics that became NaN, and warns of a program that saved nothing, after the end too', () => {
  const nonFinite = { loss: { value: 'NaN', step: 7 }, norm: { value: '-Infinity', step: null } } as const;
  const progress = { step: 10, stepsMax: 10, metrics: { accuracy: 0.1, norm: 2 }, nonFinite };
  const replica = training({ progress, exit: { outcome: 'SUCCEEDED', savedNothing: true } });
  const stored = parseStoredReplica(JSON.stringify(replica));
  const { replicas, warnings } = viewJob(cancelled, [stored], 9_000);
  expect(replicas).toMatchObject([{ metrics: { accuracy: 0.1, loss: 'NaN', norm: 2 } }]);
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['NOTHING_SAVED', 'The program succeeded, but saved no file in gs://jobs/digits.'],
  ]);
  expect(viewJob(cancelled, [training()], 9_000).warnings).toEqual([]);
});

describe('a loss that is not finite', () => {
  const finding: HealthFinding = {
    code: 'NON_FINITE',
    message: 'The metric loss = NaN at step 7.',
    remedy: 'Lower the learning rate.',
    evidence: ['loss: nan'],
    since: 5_000,
    until: null,
  };
  const succeeded = { outcome: 'SUCCEEDED' } as const;
  const warningsOf = (facts: Parameters<typeof training>[0]) =>
    viewJob(cancelled, [training(facts)], 9_000).warnings.map(({ code, message }) => [code, message]);

  it('is a warning of its job if it stays so', () => {
    const expected = [['METRIC_NOT_FINITE', 'master-0: The metric loss = NaN at step 7.']];
    expect(warningsOf({ health: [finding], exit: succeeded })).toEqual(expected);
    expect(warningsOf({ health: [{ ...finding, until: 6_000 }], exit: succeeded })).toEqual([]);
  });

  it('is no warning if it is the cause', () => {
    const exit = { outcome: 'FAILED', cause: causeOf('METRIC_NOT_FINITE', 'It was NaN.') } as const;
    expect(warningsOf({ health: [finding], exit })).toEqual([]);
  });

  it('is in the view with its replica and its times, as is a divergence that lasts', () => {
    const diverging: HealthFinding = { ...finding, code: 'DIVERGING', message: 'loss has risen to 90.' };
    expect(warningsOf({ health: [diverging] })).toEqual([['DIVERGING', 'master-0: loss has risen to 90.']]);
    expect(
      warningsOf({
        health: [
          { ...diverging, until: 7_000 },
          { ...finding, code: 'PLATEAU' },
        ],
      }),
    ).toEqual([]);
    expect(viewJob(cancelled, [training({ health: [{ ...diverging, until: 7_000 }] })], 9_000).health).toEqual([
      {
        ...{ code: 'DIVERGING', replica: 'master-0', message: 'loss has risen to 90.' },
        ...{ remedy: 'Lower the learning rate.', evidence: ['loss: nan'] },
        ...{ sinceTime: '1970-01-01T00:00:05.000Z', untilTime: '1970-01-01T00:00:07.000Z' },
      },
    ]);
  });
});
