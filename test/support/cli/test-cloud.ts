import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
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
import type { LogEntry } from '../../../shared/ports/log-store.ts';
import type { ObjectInfo } from '../../../shared/ports/object-store.ts';
import type { JobView } from '../../../shared/protocol/report.ts';

/** The servers that the CLI uses: the real Cloud Storage emulator, and an API with data provided by the test. */
export type TestCloud = {
  readonly dataDir: string;
  readonly endpoints: Endpoints;
  readonly store: ReturnType<typeof openDirectoryObjectStore>;
  /** Each GET of a job consumes its next view; the last one is kept. */
  readonly jobs: Map<string, JobView[]>;
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
  const serve = async (app: Hono) => {
    const server = createServer(getRequestListener(app.fetch));
    servers.push(server);
    return `http://127.0.0.1:${await listen(server, 0)}`;
  };
  const state = {
    jobs: new Map<string, JobView[]>(),
    logs: [] as LogEntry[],
    vms: [] as object[],
    requests: [] as string[],
  };
  const api = await serve(createApi({ ...state, store }, (request) => cloud.onAnswer(request)));
  const storage = await serve(
    createCloudStorageServer(store, { reportError: (error) => state.requests.push(`FAULT ${error.message}`) }),
  );
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

type State = Pick<TestCloud, 'jobs' | 'logs' | 'vms' | 'requests' | 'store'>;

function createApi({ jobs, logs, vms, requests, store }: State, onAnswer: TestCloud['onAnswer']): Hono {
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
    const all = [...jobs.values()].flatMap((views) => views.slice(-1));
    return context.json({
      jobs: all.slice(start, end),
      ...(end < all.length && { nextPageToken: String(end) }),
    });
  });
  app.get('/v1/jobs/:jobId', (context) => {
    const views = jobs.get(context.req.param('jobId'));
    const view = views !== undefined && views.length > 1 ? views.shift() : views?.[0];
    const error = { code: 404, message: 'There is no such job.', remedy: 'List the jobs to see their ids.' };
    return view === undefined ? context.json({ error }, 404) : context.json(view);
  });
  app.post('/v1/jobs/:target', (context) =>
    context.json(jobs.get(context.req.param('target').replace(':cancel', ''))?.[0]),
  );
  app.get('/v1/jobs/:jobId/logs', (context) => {
    const start = Number(context.req.query('cursor') || 0);
    // Pages of two entries, so that a client which reads only one page fails the test.
    return context.json({ entries: logs.slice(start, start + 2), cursor: String(Math.min(logs.length, start + 2)) });
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
    interrupted: new AbortController().signal,
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
    attempt: 1,
    placement: { zone: 'us-central1-a', provisioningModel: 'STANDARD', machineImage: 'cpu' },
    machines: [{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null }],
    cause: null,
    waitingFor: null,
    attempts: [],
    replicas: [],
    warnings: [],
    tuning: null,
    trial: null,
    price: NO_PRICE,
    ...overrides,
  };
}

export function replicaOf(overrides: Partial<JobView['replicas'][number]> = {}): JobView['replicas'][number] {
  return {
    replica: 'master-0',
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
