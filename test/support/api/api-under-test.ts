import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type ApiPorts, createApiApp } from '#shared/api/api-app.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { createLogger } from '#shared/observability/logger.ts';
import { withUpdates } from '../use-cases/updates.ts';
import { checkAnswer } from './check-answer.ts';
import { exampleIntake } from './example-intake.ts';
import { exampleRegistry } from './example-registry.ts';

/** The API on the embedded cloud's stores, in a temporary directory. */
export async function openApiUnderTest(overrides: Partial<ApiPorts> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-api-'));
  const database = openDatabase(join(directory, 'state.db'));
  const objects = openDirectoryObjectStore({
    database,
    directory: join(directory, 'objects'),
    clock: Date,
    onFinalized: () => {},
  });
  objects.createBucket('uploads');
  const accountBuckets = Object.values(overrides.intake?.rights.accounts ?? {}).map(({ bucket }) => bucket);
  for (const bucket of ['jobs', ...accountBuckets]) {
    objects.createBucket(bucket);
  }
  const published: string[] = [];
  const logged: string[] = [];
  const ports: ApiPorts = withUpdates<Omit<ApiPorts, 'updates'>>({
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    bus: {
      publish: async (topic) => {
        published.push(topic);
        return 'id';
      },
    },
    timeouts: TIMEOUTS,
    objects,
    registry: exampleRegistry(),
    intake: exampleIntake,
    clock: { now: () => 100_000 },
    logger: createLogger((line) => logged.push(line)),
    page: { find: async () => undefined },
    channels: {},
    notifications: openSqliteNotificationLog(database),
    logs: { read: async () => ({ entries: [], cursor: '' }) },
    changes: openSqliteChangeFeed(database),
    ...overrides,
  });
  const app = createApiApp(ports);
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await app.request(path, init);
    await checkAnswer(path, init.method ?? 'GET', response);
    return response;
  };
  return {
    ports,
    objects,
    published,
    /** Lines of the log of the function. */
    logged,
    request,
    async post(path: string, body: object) {
      const headers = { 'content-type': 'application/json' };
      const response = await request(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    },
    async close() {
      database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type ApiUnderTest = Awaited<ReturnType<typeof openApiUnderTest>>;
