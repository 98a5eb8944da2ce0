import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Io } from '../../../cli/core/command.ts';
import { run } from '../../../cli/run.ts';
import { createCloudStorageServer } from '../../../infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '../../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import { type Endpoints, removeEndpoints, writeEndpoints } from '../../../infra/embedded/data-dir/endpoints.ts';
import { closeServer, listen } from '../../../infra/embedded/http/server.ts';
import type { HistoryEntry } from '../../../shared/domain/history-entry.ts';
import type { Study } from '../../../shared/domain/study.ts';
import type { LogEntry } from '../../../shared/ports/log-store.ts';
import type { ObjectInfo } from '../../../shared/ports/object-store.ts';
import type { JobView } from '../../../shared/protocol/job-view.ts';
import type { TrialView, TuningView } from '../../../shared/protocol/tuning-view.ts';
import { createStorageFaults, type StorageFaults } from '../google-cloud/storage-faults.ts';
import { pointsOf, SERIES_INDEX } from './metric-answers.ts';

/** The servers that the CLI uses: the real Cloud Storage emulator, and an API with data provided by the test. */
export type TestCloud = {
  readonly dataDir: string;
  readonly endpoints: Endpoints;
  readonly store: ReturnType<typeof openDirectoryObjectStore>;
  /** The faults of the Cloud Storage emulator. */
  readonly faulty: StorageFaults;
  /** Each GET of a job consumes its next view; the last one is kept. */
  readonly jobs: Map<string, JobView[]>;
  /** The trials of every tuning. */
  readonly trials: TrialView[];
  /** The history of every job; while it is empty, the API answers as that of v0.1.0, which had no such route. */
  readonly history: HistoryEntry[];
  readonly logs: LogEntry[];
  readonly vms: object[];
  /** `METHOD path` of every request to the API and the admin endpoint. */
  readonly requests: string[];
  /** Called when an object is finalized, in place of intake. */
  onObject: (info: ObjectInfo) => void;
  /** Called after each response of the API. */
  onAnswer: (request: string) => void;
  close(): Promise<void>;
};

export async function startTestCloud(): Promise<TestCloud> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-cli-'));
  const database = openDatabase(join(dataDir, 'state.sqlite'));
  const store = openDirectoryObjectStore({
    database,
    directory: join(dataDir, 'objects'),
    clock: Date,
    onFinalized: (info) => setImmediate(() => cloud.onObject(info)),
  });
  store.createBucket('uploads');
  store.createBucket('jobs');
  const servers: Server[] = [];
  const serve = async (listener: RequestListener) => {
    const server = createServer(listener);
    servers.push(server);
    return `http://127.0.0.1:${await listen(server, 0)}`;
  };
  const state = {
    jobs: new Map<string, JobView[]>(),
    trials: [] as TrialView[],
    history: [] as HistoryEntry[],
    logs: [] as LogEntry[],
    vms: [] as object[],
    requests: [] as string[],
  };
  const app = createApi({ ...state, store }, (request) => cloud.onAnswer(request));
  const api = await serve(getRequestListener(app.fetch));
  const faulty = createStorageFaults(
    createCloudStorageServer(store, { reportError: (error) => state.requests.push(`FAULT ${error.message}`) }),
  );
  const storage = await serve(faulty.listener);
  const endpoints: Endpoints = {
    pid: process.pid,
    projectId: 'test-project',
    api,
    storage,
    pubsub: api,
    compute: api,
    secretManager: api,
    admin: api,
    uploadBucket: 'uploads',
    jobsBucket: 'jobs',
  };
  await writeEndpoints(dataDir, endpoints);
  const cloud: TestCloud = {
    ...state,
    dataDir,
    endpoints,
    store,
    faulty,
    onObject: () => {},
    onAnswer: () => {},
    async close() {
      await removeEndpoints(dataDir);
      await Promise.all(servers.map(closeServer));
      database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return cloud;
}

type State = Pick<TestCloud, 'jobs' | 'trials' | 'history' | 'logs' | 'vms' | 'requests' | 'store'>;

function createApi(
  { jobs, trials, history, logs, vms, requests, store }: State,
  onAnswer: TestCloud['onAnswer'],
): Hono {
  const app = new Hono();
  app.use(async ({ req }, next) => {
    const request = `${req.method} ${req.path}`;
    requests.push(request);
    await next();
    onAnswer(request);
  });
  app.get('/v1/jobs', (context) => {
    const start = Number(context.req.query('pageToken') ?? 0);
    const end = start + Number(context.req.query('pageSize'));
    const hasProgress = context.req.query('view') === 'PROGRESS';
    const last = [...jobs.values()].flatMap((views) => views.slice(-1));
    const all = last.map((view) => (hasProgress ? view : { ...view, replicas: [] }));
    return context.json({
      jobs: all.slice(start, end),
      ...(end < all.length && { nextPageToken: String(end) }),
    });
  });
  const served = new Map<string, JobView | undefined>();
  app.get('/v1/changes', (context) => {
    const jobId = context.req.query('job') ?? '';
    const [next, ...others] = jobs.get(jobId) ?? [];
    const isChanged = others.length > 0 || next !== served.get(jobId);
    const changes = isChanged ? [{ jobId, kind: 'RECORD', version: `${requests.length}` }] : [];
    return context.json({ changes, isEverything: !context.req.query('since'), marker: '1', pollAfterMs: 1 });
  });
  app.get('/v1/jobs/:jobId', (context) => {
    const jobId = context.req.param('jobId');
    const views = jobs.get(jobId);
    const view = views !== undefined && views.length > 1 ? views.shift() : views?.[0];
    served.set(jobId, view);
    const error = { code: 404, message: 'There is no such job.', remedy: 'List the jobs to see their ids.' };
    return view === undefined ? context.json({ error }, 404) : context.json(view);
  });
  app.post('/v1/jobs/:target', (context) => {
    const view = jobs.get(context.req.param('target').replace(':cancel', ''))?.[0];
    return view === undefined
      ? context.json({ error: { code: 404, message: 'There is no such job.' } }, 404)
      : context.json(view);
  });
  app.get('/v1/jobs/:jobId/history', (context) =>
    history.length === 0
      ? context.json({ error: { code: 404, message: 'Not found.' } }, 404)
      : context.json({ history }),
  );
  app.get('/v1/running', (context) =>
    context.json({ unfinishedJobs: 3, vms: 2, perHourUsd: 0.38, isLowerBound: false }),
  );
  app.get('/v1/jobs/:jobId/metrics', (context) => context.json(SERIES_INDEX));
  app.get('/v1/jobs/:jobId/metrics/points', (context) => context.json(pointsOf(context.req.queries('name') ?? [])));
  app.get('/v1/jobs/:jobId/trials', (context) => {
    const start = Number(context.req.query('pageToken') ?? 0);
    // Pages of two trials, so that a client which reads only one page fails the test.
    const end = start + 2;
    return context.json({
      trials: trials.slice(start, end),
      ...(end < trials.length && { nextPageToken: String(end) }),
    });
  });
  app.get('/v1/jobs/:jobId/trials/:trialId', (context) => {
    const trial = trials.find(({ trialId }) => trialId === context.req.param('trialId'));
    const curve = [1, 2, 3].map((step) => ({ step, elapsedMs: step * 1_000, values: { accuracy: step / 10 } }));
    const error = { code: 404, message: 'There is no such trial.' };
    return trial === undefined ? context.json({ error }, 404) : context.json({ ...trial, curve });
  });
  app.get('/v1/jobs/:jobId/logs', (context) => {
    const { cursor, replica } = context.req.query();
    const found = logs.filter((entry) => replica === undefined || entry.replica === replica);
    const start = Number(cursor || 0);
    // Pages of two entries, so that a client which reads only one page fails the test.
    return context.json({ entries: found.slice(start, start + 2), cursor: String(Math.min(found.length, start + 2)) });
  });
  app.get('/status', (context) =>
    context.json({
      ...{ projectId: 'test-project', vms, storage: store.measure() },
      queues: [{ topic: 'provision', waiting: 0, deadLetters: 0 }],
    }),
  );
  app.post('/vms/:target', (context) =>
    context.req.param('target').startsWith('vm-1:')
      ? context.json({})
      : context.json({ error: { message: 'There is no such VM.' } }, 404),
  );
  app.post('/zones/:target', (context) => context.json({}));
  return app;
}

export type CliResult = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly json: () => unknown[];
};

/** Runs a command line in this process. */
export async function runCli(argv: readonly string[], io: Partial<Io> = {}): Promise<CliResult> {
  const written = { stdout: '', stderr: '' };
  const outputOf = (name: 'stdout' | 'stderr') => ({
    write: (data: string | Uint8Array) => {
      written[name] += typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
    },
    terminal: null,
    hasColors: false,
  });
  const code = await run(argv, {
    stdout: outputOf('stdout'),
    stderr: outputOf('stderr'),
    openStdin: () => Readable.from([]),
    cwd: process.cwd(),
    dataDir: undefined,
    deployment: undefined,
    stateDir: join(tmpdir(), 'no-state'),
    interrupted: new AbortController().signal,
    hasContainerEngine: async () => true,
    startCloud: () => Promise.reject(new Error('This test must not start a cloud.')),
    ...io,
  });
  const json = () =>
    written.stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  return { code, ...written, json };
}

const NO_PRICE = { perHourUsd: 0.19, billedSeconds: 30, totalUsd: 0.0016, asOf: '2026-08-01' };

export function viewOf(jobId: string, overrides: Partial<JobView> = {}): JobView {
  return {
    jobId,
    state: 'SUCCEEDED',
    createTime: '2026-11-21T06:00:00.000Z',
    startTime: '2026-11-21T06:00:05.000Z',
    endTime: '2026-11-21T06:01:05.000Z',
    errorMessage: null,
    labels: {},
    jobDir: `gs://jobs/${jobId}`,
    source: `gs://uploads/${jobId}/job.json`,
    report: `gs://uploads/${jobId}/job.json.report.json`,
    submittedBy: null,
    git: null,
    attempt: 1,
    placement: { zone: 'us-central1-a', provisioningModel: 'STANDARD', machineImage: 'cpu' },
    machines: [{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null }],
    images: [],
    cause: null,
    waitingFor: null,
    attempts: [],
    replicas: [],
    health: [],
    timeline: [],
    warnings: [],
    tuning: null,
    trial: null,
    price: NO_PRICE,
    kept: null,
    ...overrides,
  };
}

export function replicaOf(overrides: Partial<JobView['replicas'][number]> = {}): JobView['replicas'][number] {
  return {
    ...{ replica: 'master-0', role: 'master', index: 0, restarts: 0, exitCode: null, cause: null },
    attempt: 1,
    vmName: 'vm-1',
    instanceId: '17',
    phase: 'RUNNING',
    heardTime: '2026-11-21T06:00:30.000Z',
    cpuFraction: 0.97,
    memoryBytes: 64 * 2 ** 20,
    memoryBytesMax: 2 ** 30,
    diskBytes: null,
    gpus: [],
    step: 12,
    stepsMax: 30,
    metrics: { loss: 0.1203, accuracy: 0.961111 },
    ...overrides,
  };
}

export const STUDY: Study = {
  metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }],
  algorithm: 'BAYESIAN',
  trialsMax: 40,
  parallelTrialsMax: 3,
  failedTrialsMax: null,
  earlyStopping: { rule: 'MEDIAN', usesElapsedTime: false },
  stoppingConditions: null,
  measurement: 'LAST',
  parameters: [
    { id: 'learning_rate', space: { kind: 'DOUBLE', min: 1e-4, max: 1 }, scale: 'LOG', children: [] },
    { id: 'hidden', space: { kind: 'INTEGER', min: 8, max: 128 }, scale: 'NONE', children: [] },
    {
      id: 'optimizer',
      space: { kind: 'CATEGORICAL', values: ['sgd', 'momentum'] },
      scale: 'NONE',
      children: [
        {
          parentValues: ['momentum'],
          parameter: { id: 'momentum', space: { kind: 'DISCRETE', values: [0.5, 0.9] }, scale: 'NONE', children: [] },
        },
      ],
    },
  ],
  resumeJobId: null,
  maxCostUsd: null,
};

export function trialOf(trialId: string, overrides: Partial<TrialView> = {}): TrialView {
  return {
    trialId,
    jobId: `search_trial_${trialId}`,
    state: 'SUCCEEDED',
    parameters: { learning_rate: 0.03125, hidden: 64, optimizer: 'sgd' },
    objective: 0.95,
    objectives: {},
    step: 30,
    isTrialStoppedEarly: false,
    startTime: '2026-11-21T06:00:05.000Z',
    endTime: `2026-11-21T06:0${Number(trialId) % 10}:35.000Z`,
    costUsd: 0.0123,
    reason: null,
    repeats: null,
    ...overrides,
  };
}

export function tuningOf(overrides: Partial<TuningView> = {}): TuningView {
  return {
    metricId: 'accuracy',
    goal: 'MAXIMIZE',
    objectives: [],
    algorithm: 'BAYESIAN',
    earlyStopping: 'MEDIAN',
    trialsMax: 40,
    parallelTrialsMax: 3,
    endedTrialCount: 0,
    counts: { succeeded: 0, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0, running: 0 },
    best: null,
    optimal: null,
    recommended: null,
    stopReason: null,
    maxCostUsd: null,
    forecast: null,
    resumes: [],
    study: STUDY,
    ...overrides,
  };
}
