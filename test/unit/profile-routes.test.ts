import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { identifyCallers } from '#shared/api/authorize.ts';
import { routeProfiles } from '#shared/api/profile-routes.ts';
import type { Job } from '#shared/domain/job.ts';
import type { ReplicaProfile } from '#shared/domain/profile.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { profileListSchema, profileViewSchema } from '#shared/protocol/profile-view.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { INSTANCE, jobAfter, queuedJob } from '../support/domain/example-job.ts';

const FIXTURE = new URL('../diagnosis/fixtures/profiles/python-loop.speedscope.json', import.meta.url);
const FOLDER = 'digits/dropforge-profiles/digits/';
const ID = 'attempt-1-master-0-1';

let folder: string;
let database: Database;
let jobs: JobStore;
let objects: ObjectStore;
let app: Hono;
let now: number;
let beat: (profile?: ReplicaProfile) => Promise<HeartbeatAnswer>;

beforeEach(() => {
  now = 10_000;
  database = openDatabase(':memory:');
  jobs = openSqliteJobStore(database);
  folder = mkdtempSync(join(tmpdir(), 'dropforge-profiles-'));
  const store = openDirectoryObjectStore({ database, directory: folder, clock: Date, onFinalized: () => {} });
  store.createBucket('jobs');
  objects = store;
  const [tunings, curves] = [openSqliteTuningStore(database), openSqliteCurveStore(database)];
  const ports = {
    ...{ jobs, tunings, curves, objects, timeouts: TIMEOUTS, clock: { now: () => now } },
    replicas: openSqliteReplicaStore(database),
    bus: { publish: async () => 'id' },
  };
  let sequence = 0;
  beat = (profile) => {
    sequence += 1;
    const heartbeat: Heartbeat = {
      ...{ protocol: 2, jobId: 'digits', attempt: 1, role: 'master', index: 0, sequence, phase: 'RUNNING' },
      usage: {
        cpuFraction: null,
        memoryBytes: null,
        memoryBytesMax: null,
        diskBytes: null,
        diskBytesMax: null,
        gpus: [],
      },
      progress: { step: null, stepsMax: null, metrics: {} },
      exit: null,
      ...(profile !== undefined && { profile }),
    };
    const vm = { vmName: vmNameOf('digits', 1, INSTANCE), instanceId: INSTANCE.instanceId, zone: 'us-central1-a' };
    return recordHeartbeat(ports, heartbeat, { ...vm, serviceAccount: null, at: now });
  };
  app = new Hono();
  app.onError((error) => (error instanceof HTTPException ? error.getResponse() : Promise.reject(error)));
  identifyCallers(app);
  routeProfiles(app, ports);
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

async function createRunning(): Promise<Job> {
  const job = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3]);
  const running = { ...job, instances: [{ ...INSTANCE, vmName: vmNameOf('digits', 1, INSTANCE) }] } as Job;
  await jobs.create(running, []);
  return running;
}

function ask(body: object = {}): Promise<Response> {
  return Promise.resolve(app.request('/v1/jobs/digits:profile', { method: 'POST', body: JSON.stringify(body) }));
}

const request = async (body?: object) => profileViewSchema.parse(await (await ask(body)).json());
const read = async (id = ID) =>
  profileViewSchema.parse(await (await app.request(`/v1/jobs/digits/profiles/${id}`)).json());
const messageOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string } }).error.message;

describe('a profile', () => {
  beforeEach(createRunning);

  it('is asked for in every answer to its replica until the agent reports it', async () => {
    expect(await beat()).not.toHaveProperty('profile');
    expect(await request({ seconds: 5 })).toMatchObject({ profileId: ID, state: 'REQUESTED', replica: 'master-0' });
    for (const _ of ['lost', 'again']) {
      expect(await beat()).toMatchObject({ command: 'CONTINUE', profile: { requestId: ID, seconds: 5 } });
    }
    expect(await beat({ requestId: ID, state: 'RECORDING', message: '' })).not.toHaveProperty('profile');
    expect(await read()).toMatchObject({ state: 'RECORDING' });
  });

  it('is one profile however often it is requested while it is recorded, and a new one afterwards', async () => {
    expect((await request()).profileId).toBe(ID);
    expect((await request()).profileId).toBe(ID);
    const other = await ask({ seconds: 9 });
    expect([other.status, await messageOf(other)]).toEqual([400, expect.stringContaining('is being profiled')]);
    await beat({ requestId: ID, state: 'FAILED', message: 'No Python.' });
    expect((await request({ seconds: 9 })).profileId).toBe('attempt-1-master-0-2');
  });

  it('is one profile if two requests arrive at once', async () => {
    const ids = await Promise.all([request(), request(), request()]);
    expect(new Set(ids.map(({ profileId }) => profileId))).toEqual(new Set([ID]));
  });

  it('has the verdict on its file once it is recorded', async () => {
    await request();
    await objects.write({ bucket: 'jobs', name: `${FOLDER}${ID}.speedscope.json` }, readFileSync(FIXTURE));
    expect(await read()).toMatchObject({ state: 'REQUESTED', file: null });
    await beat({ requestId: ID, state: 'RECORDED', message: '' });
    expect(await read()).toMatchObject({
      state: 'RECORDED',
      verdict: { code: 'PYTHON_BOUND' },
      file: { uri: `gs://jobs/${FOLDER}${ID}.speedscope.json` },
    });
  });

  it('fails with the reason of the agent, or without its file', async () => {
    await request();
    await beat({ requestId: ID, state: 'FAILED', message: 'No Python.' });
    expect(await read()).toMatchObject({ state: 'FAILED', message: 'No Python.', verdict: null });
    await beat({ requestId: ID, state: 'RECORDED', message: '' });
    expect(await read()).toMatchObject({ state: 'FAILED', message: 'The file of the profile was deleted.' });
  });

  it('fails by time if the agent never starts, as an older one, or never ends', async () => {
    await request({ seconds: 30 });
    now += 120_000;
    expect(await beat()).not.toHaveProperty('profile');
    expect(await read()).toMatchObject({
      state: 'FAILED',
      message: expect.stringContaining('did not start within 120 s'),
    });
    await beat({ requestId: ID, state: 'RECORDING', message: '' });
    expect(await read()).toMatchObject({ state: 'RECORDING' });
    now += 210_000;
    expect(await read()).toMatchObject({
      state: 'FAILED',
      message: expect.stringContaining('has not reported the end'),
    });
    expect((await request()).profileId).toBe('attempt-1-master-0-2');
  });

  it('of an earlier attempt stays in the job directory, and is listed there', async () => {
    await objects.write({ bucket: 'jobs', name: `${FOLDER}${ID}.speedscope.json` }, readFileSync(FIXTURE));
    await objects.write({ bucket: 'jobs', name: `${FOLDER}notes.txt` }, Buffer.from(''));
    expect(await read()).toMatchObject({ state: 'RECORDED', replica: null, verdict: { code: 'PYTHON_BOUND' } });
    const list = profileListSchema.parse(await (await app.request('/v1/jobs/digits/profiles')).json());
    expect(list.profiles.map(({ profileId }) => profileId)).toEqual([ID]);
  });

  it('whose file a program has replaced has no verdict', async () => {
    await objects.write({ bucket: 'jobs', name: `${FOLDER}${ID}.speedscope.json` }, Buffer.from('{}'));
    expect(await read()).toMatchObject({
      state: 'RECORDED',
      verdict: null,
      message: expect.stringContaining('no verdict'),
    });
  });

  it('is refused for replicas and times that do not exist, and unknown ids are not found', async () => {
    expect(await messageOf(await ask({ replica: 'worker-7' }))).toBe('Job digits has no replica worker-7.');
    expect((await ask({ seconds: 301 })).status).toBe(400);
    expect((await app.request('/v1/jobs/digits/profiles/attempt-9-master-0-1')).status).toBe(404);
    expect((await app.request('/v1/jobs/digits/profiles/..%2Fx')).status).toBe(404);
  });
});

describe('a profile of a cluster', () => {
  const WORKERS = 8;

  beforeEach(async () => {
    const job = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3]);
    const [master] = job.spec.replicaGroups;
    const replicaGroups = [master, { ...master, role: 'worker', count: WORKERS }] as const;
    await jobs.create({ ...job, spec: { ...job.spec, replicaGroups } }, []);
  });

  it('is of one replica at a time', async () => {
    await request({ replica: 'worker-1' });
    const other = await ask({ replica: 'worker-2' });
    expect([other.status, await messageOf(other)]).toEqual([
      400,
      expect.stringContaining('Replica worker-1 of job digits is being profiled'),
    ]);
  });

  it('is of one replica if two are requested at once', async () => {
    const answers = await Promise.all([ask({ replica: 'worker-1' }), ask({ replica: 'worker-2' })]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  });

  it('of a replica that does not exist names eight of those that do', async () => {
    const answer = (await (await ask({ replica: 'ps-0' })).json()) as { error: { remedy: string } };
    expect(answer.error.remedy).toBe(
      'Its replicas are master-0, worker-0, worker-1, worker-2, worker-3, worker-4, worker-5, worker-6 and 1 more.',
    );
  });
});

it.each([
  ['REPLICA_UPLOADING', 'has ended or is ending'],
  ['STOP_REQUESTED', 'has ended or is ending'],
  ['CANCEL_REQUESTED', 'no program runs'],
] as const)('a job after %s cannot be profiled', async (type, message) => {
  const job = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3], [type, 4]);
  await jobs.create(job, []);
  expect(await messageOf(await ask())).toContain(message);
});

it('a job that is not running cannot be profiled', async () => {
  await jobs.create(jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1]), []);
  const response = await ask();
  expect([response.status, await messageOf(response)]).toEqual([400, 'Job digits is QUEUED: no program runs.']);
});
