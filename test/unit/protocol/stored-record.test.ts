import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { Effect } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import { provisionMessageSchema } from '#shared/protocol/stage-message.ts';
import { parseStoredEffect, parseStoredJob, parseStoredReplica } from '#shared/protocol/stored-record.ts';
import { closedJob, holdingJob, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';
import { container, fullSpec } from '../../support/domain/full-spec.ts';

/** Jobs, a suspect replica and effects, as the version before wrote them: five fields and an effect had other names. */
const BEFORE = JSON.parse(
  readFileSync(new URL('../../fixtures/stored-records/records-before.json', import.meta.url), 'utf8'),
) as { readonly jobs: Readonly<Record<string, object>>; readonly replica: object; readonly effects: readonly object[] };
/** A job without the fields that were added since the first version. */
const OLDEST_JOB = readFileSync(new URL('../../fixtures/stored-records/oldest-job.json', import.meta.url), 'utf8');

const warning = { code: 'CPU_ONLY', message: 'A CPU build.', remedy: 'Use a GPU build.', path: 'setup.py', line: 3 };
const waiting = causeOf('STOCKOUT', 'The zone is out of capacity.', ['ZONE_RESOURCE_POOL_EXHAUSTED']);

describe('a stored job', () => {
  it.each<readonly [string, Job]>([
    ['QUEUED', queuedJob()],
    ['QUEUED, with every optional field', { ...queuedJob(), spec: fullSpec, warnings: [warning], waitingFor: waiting }],
    ['PREPARING', jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1])],
    ['PREPARING, pending', jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_PENDING', 2])],
    ['RUNNING', jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3])],
    ['PREPARING, failure held', holdingJob(jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1]), 3)],
    ['CLOSING', jobAfter(queuedJob(), ['CANCEL_REQUESTED', 1])],
    ['CLOSED', closedJob()],
  ])('that is %s is parsed as it was written', (_, job) => {
    expect(parseStoredJob(JSON.stringify(job))).toEqual(job);
  });

  it('without the fields that were added since the first version gets their defaults', () => {
    const job = parseStoredJob(OLDEST_JOB);
    expect(job).toMatchObject({ jobId: 'digits', status: 'RUNNING', attempt: 2, ranMs: 0, uploadingAt: null });
    expect(job.warnings).toEqual([]);
    expect(job.spec).toMatchObject({
      secrets: {},
      health: {},
      notify: null,
      study: null,
      network: null,
      subnetwork: null,
      networkAttachment: null,
      passesJobDir: true,
    });
    expect(job.spec.program).toMatchObject({ environment: {} });
    expect(job.spec.replicaGroups[0]).toMatchObject({ reservation: null, program: null, provisioningModel: null });
    expect(job.counts).toMatchObject({ interruptions: 1, interruptionsInRow: 0, bootFailuresInRow: 0, unusedVms: 0 });
    expect([job.quotaWaitSince, job.deniedSince]).toEqual([null, null]);
    expect(job.source.submittedBy).toBeNull();
    expect(job.spec.limits.keepOnFailureMs).toBe(0);
  });

  it.each<readonly [string, Job]>([
    ['RUNNING', jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3])],
    ['CLOSED', closedJob()],
  ])('that is %s of the version before is opened', (status, job) => {
    expect(parseStoredJob(JSON.stringify(BEFORE.jobs[status]))).toEqual({ ...job, history: [] });
  });

  it('keeps the names that users chose, whatever fields were called', () => {
    const job: Job = { ...queuedJob(), spec: { ...queuedJob().spec, labels: { refusals: 'none', missedat: 'x' } } };
    expect(parseStoredJob(JSON.stringify(job)).spec.labels).toEqual(job.spec.labels);
  });

  it('with a cause that only a newer version knows keeps its message and evidence', () => {
    const stored = { ...queuedJob(), waitingFor: { ...waiting, code: 'NO_MOON' } };
    expect(parseStoredJob(JSON.stringify(stored)).waitingFor).toEqual({ ...waiting, code: 'INTERNAL_ERROR' });
  });

  it('of a replica with a finding that only a newer version knows keeps its other findings', () => {
    const finding = { code: 'STALLED', message: 'm', remedy: 'r', evidence: [], since: 1, until: null } as const;
    const stored = { ...exampleReplica(), health: [{ ...finding, code: 'NO_MOON' }, finding] };
    expect(parseStoredReplica(JSON.stringify(stored)).health).toEqual([finding]);
  });

  it('of the version that recorded profiles opens without them, and so does the record of its replica', () => {
    const running = jobAfter(
      queuedJob(),
      ['PLACEMENT_CHOSEN', 2_000],
      ['VMS_CREATED', 3_000],
      ['REPLICA_STARTED', 4_000],
    );
    const request = { requestId: 'attempt-1-master-0-1', ordinal: 1, replica: 'master-0', seconds: 30, requestedAt: 5 };
    expect(parseStoredJob(JSON.stringify({ ...running, profile: request }))).toEqual(running);
    const profile = { requestId: 'attempt-1-master-0-1', state: 'RECORDED', message: '' };
    expect(parseStoredReplica(JSON.stringify({ ...exampleReplica(), profile }))).toEqual(exampleReplica());
  });

  it('that no version could have written is rejected with its id and the field', () => {
    const { zones: _, ...stored } = queuedJob();
    expect(() => parseStoredJob(JSON.stringify(stored))).toThrow(/job of job digits cannot be read.*\n.*zones/s);
  });

  it('that cannot be read keeps no other job from being woken', async () => {
    const database = openDatabase(':memory:');
    const store = openSqliteJobStore(database);
    await store.create(queuedJob(), []);
    await store.create({ ...queuedJob(), jobId: 'other' }, []);
    database.sql.exec(`update jobs set body = '{}' where job_id = 'digits'`);
    const due = await store.listDue(Number.MAX_SAFE_INTEGER, 10);
    expect(due.map(({ id }) => id).sort()).toEqual(['digits', 'other']);
    await expect(store.read('digits')).rejects.toThrow(/cannot be read by this version/);
    const { items, error } = await readableOf(store.list({ countMax: 10 }));
    expect(items.map(({ jobId }) => jobId)).toEqual(['other']);
    expect(error?.message).toMatch(/1 stored records cannot be read/);
    expect((await store.read('other'))?.record.jobId).toBe('other');
    database.close();
  });
});

describe('a stored replica record', () => {
  it.each<readonly [string, Replica]>([
    ['healthy', exampleReplica()],
    ['with an expired lease', { ...exampleReplica(), suspectSince: 130_000 }],
    [
      'interrupted',
      {
        ...exampleReplica(),
        pendingExit: { outcome: 'FAILED', cause: waiting },
        endedAt: 120_000,
        notice: { isStopping: true, endsAt: 150_000, message: 'Compute Engine is preempting the VM.' },
        rebootedAt: 60_000,
      },
    ],
    ['with an exit', { ...exampleReplica(), exit: { outcome: 'FAILED', cause: waiting }, leaseExpiresAt: null }],
  ])('that is %s is parsed as it was written', (_, replica) => {
    expect(parseStoredReplica(JSON.stringify(replica))).toEqual(replica);
  });

  it('of a version that counted the bytes of an image is parsed without them', () => {
    const replica = exampleReplica();
    const stored = { ...JSON.parse(JSON.stringify(replica)), transfer: { doneBytes: 3, totalBytes: 10 } };
    expect(parseStoredReplica(JSON.stringify(stored))).toEqual(replica);
  });
});

it('a replica record that cannot be read keeps no other lease from being evaluated', async () => {
  const database = openDatabase(':memory:');
  const store = openSqliteReplicaStore(database);
  await store.record(exampleReplica());
  await store.record({ ...exampleReplica(), replica: 'worker-0', instanceId: '102' });
  database.sql.exec(`update replicas set body = '{}' where replica = 'master-0'`);
  const { items, error } = await readableOf(store.listExpired(Number.MAX_SAFE_INTEGER, 10));
  expect(items.map(({ replica }) => replica)).toEqual(['worker-0']);
  expect(error?.message).toMatch(/replica record cannot be read/);
  database.close();
});

it('a suspect replica of the version before is opened', () => {
  const replica = { ...exampleReplica(), suspectSince: 130_000 };
  expect(parseStoredReplica(JSON.stringify(BEFORE.replica))).toEqual(replica);
});

const EFFECTS: readonly Effect[] = [
  { type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 2 },
  { type: 'TEARDOWN', jobId: 'digits' },
  { type: 'JOB_UPDATE', jobId: 'digits', state: 'RUNNING', attempt: 1 },
];

describe('a stored outbox entry', () => {
  it.each(EFFECTS)('$type is parsed as it was written', (effect) => {
    expect(parseStoredEffect(JSON.stringify(effect))).toEqual(effect);
  });

  it('of the version before is opened', () => {
    expect(BEFORE.effects.map((effect) => parseStoredEffect(JSON.stringify(effect)))).toEqual(EFFECTS);
  });
});

it('a message on the topic provision is accepted with either name of the placement round', () => {
  const current = { type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 2 };
  const { placementRound, ...rest } = current;
  expect(provisionMessageSchema.parse(current)).toEqual(current);
  expect(provisionMessageSchema.parse({ ...rest, placementTry: placementRound })).toEqual(current);
});
