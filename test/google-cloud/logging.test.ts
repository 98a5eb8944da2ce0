import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { expect, it } from 'vitest';
import { openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { createCloudLoggingServer } from '#infra/embedded/cloud-logging/server.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { createCloudLogStore } from '#infra/google-cloud/cloud-logging/cloud-log-store.ts';
import { createApiApp } from '#shared/api/api-app.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { createLogger } from '#shared/observability/logger.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import { describeLogStoreContract, type LogStoreUnderTest } from '../contract/log-store.contract.ts';
import { exampleIntake } from '../support/api/example-intake.ts';
import { exampleRegistry } from '../support/api/example-registry.ts';
import { noObjects } from '../support/api/no-objects.ts';
import { noUpdates } from '../support/use-cases/updates.ts';

const PROJECT_ID = 'dropforge-local';

describeLogStoreContract('Cloud Logging', () => openIn());

it('reports an exceeded quota with the time to retry after, without retrying itself', async () => {
  let requestsCount = 0;
  const server = createServer((_, response) => {
    requestsCount += 1;
    const message = "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute'.";
    response.writeHead(429, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }));
  });
  await using cleanUp = new AsyncDisposableStack();
  const url = `http://${HOST}:${await listen(server, 0)}`;
  cleanUp.defer(() => closeServer(server));
  const database = openDatabase(':memory:');
  cleanUp.defer(() => database.close());
  const api = createApiApp({
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    changes: openSqliteChangeFeed(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    clock: { now: Date.now },
    page: { find: async () => undefined },
    registry: exampleRegistry(),
    logger: createLogger(() => undefined),
    intake: exampleIntake,
    channels: {},
    notifications: openSqliteNotificationLog(database),
    timeouts: TIMEOUTS,
    objects: noObjects,
    logs: createCloudLogStore({
      projectId: PROJECT_ID,
      url,
      auth: new GoogleAuth({ authClient: new PassThroughClient() }),
    }),
  });

  const response = await api.request('/v1/jobs/digits/logs?cursor=');

  expect([response.status, response.headers.get('retry-after'), requestsCount]).toEqual([429, '15', 1]);
  expect(await response.json()).toEqual({
    error: {
      code: 429,
      message: "Cloud Logging's read quota of dropforge-local is exceeded.",
      remedy: 'Retry in 15 s with the same cursor.',
    },
  });
});

it('has no entries of a job whose id differs in case only, which a comparison of Cloud Logging matches', async () => {
  const filters: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { filter } = JSON.parse(Buffer.concat(chunks).toString()) as { filter: string };
      filters.push(filter);
      const entries = ['digits', 'DIGITS'].map((jobId) => ({
        insertId: jobId,
        timestamp: '2026-11-20T12:00:00Z',
        labels: { job_id: jobId, attempt: '1', replica: 'master-0', stream: 'stdout' },
        textPayload: `of ${jobId}`,
      }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ entries }));
    });
  });
  await using cleanUp = new AsyncDisposableStack();
  const url = `http://${HOST}:${await listen(server, 0)}`;
  cleanUp.defer(() => closeServer(server));
  const auth = new GoogleAuth({ authClient: new PassThroughClient() });
  const logs = createCloudLogStore({ projectId: PROJECT_ID, url, auth });

  const { entries } = await logs.read({ jobId: 'DIGITS', cursor: '', countMax: 10 });

  expect(entries.map(({ text }) => text)).toEqual(['of DIGITS']);
  // A full page of the other job's entries would look like the end of the log.
  expect(filters).toEqual([expect.stringContaining('labels.job_id=~"^DIGITS$"')]);
});

async function openIn(directory?: string): Promise<LogStoreUnderTest> {
  const folder = directory ?? (await mkdtemp(join(tmpdir(), 'dropforge-logging-')));
  const loggingServer = createCloudLoggingServer(openFileLogStore(folder), PROJECT_ID);
  const server = createServer(getRequestListener(loggingServer.fetch));
  const url = `http://${HOST}:${await listen(server, 0)}`;
  const auth = new GoogleAuth({ authClient: new PassThroughClient() });
  return {
    store: createCloudLogStore({ projectId: PROJECT_ID, url, auth }),
    write: (entries) => writeAsVm(url, entries),
    async reopen() {
      await closeServer(server);
      return openIn(folder);
    },
    async close() {
      await closeServer(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeAsVm(url: string, entries: readonly (LogEntry & { readonly insertId: string })[]): Promise<void> {
  const body = {
    entries: entries.map(({ insertId, at, text, severity, jobId, attempt, replica, stream }) => ({
      insertId,
      timestamp: new Date(at).toISOString(),
      severity,
      labels: { job_id: jobId, attempt: String(attempt), replica, stream },
      textPayload: text,
    })),
  };
  const response = await fetch(`${url}/v2/entries:write`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) {
    throw new Error(await response.text());
  }
}
