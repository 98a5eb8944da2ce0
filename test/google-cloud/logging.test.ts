import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { createLoggingDoor } from '#infra/embedded/doors/logging-door.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http-server.ts';
import { openFileLogStore } from '#infra/embedded/logs/file-log-store.ts';
import { createCloudLogStore } from '#infra/google-cloud/logging/cloud-log-store.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import { describeLogStoreContract, type LogStoreUnderTest } from '../contract/log-store.contract.ts';

const PROJECT_ID = 'dropforge-local';

describeLogStoreContract('Cloud Logging', () => openIn());

async function openIn(directory?: string): Promise<LogStoreUnderTest> {
  const folder = directory ?? (await mkdtemp(join(tmpdir(), 'dropforge-logging-')));
  const door = createLoggingDoor(openFileLogStore(folder), PROJECT_ID);
  const server = createServer(getRequestListener(door.fetch));
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
