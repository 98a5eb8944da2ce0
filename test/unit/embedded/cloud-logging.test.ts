import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FileLogStore, openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { createCloudLoggingServer } from '#infra/embedded/cloud-logging/server.ts';

let folder: string;
let logs: FileLogStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-logging-app-'));
  logs = openFileLogStore(folder);
});

afterEach(() => rm(folder, { recursive: true }));

function entryOf(insertId: string, stream: string) {
  const labels = { job_id: 'digits', attempt: '1', replica: 'master-0', stream };
  return { insertId, timestamp: '2026-01-01T00:00:00Z', labels, jsonPayload: { message: insertId } };
}

async function write(body: string): Promise<number> {
  const app = createCloudLoggingServer(logs, 'dropforge-local');
  return (await app.request('/v2/entries:write', { method: 'POST', body })).status;
}

function writtenTexts(): readonly string[] {
  return logs.listIdentified('digits', 10).map(({ text }) => text);
}

it('rejects a whole request with NaN in one entry, as Google does: it is not valid JSON', async () => {
  const body = JSON.stringify({ partialSuccess: true, entries: [entryOf('good', 'stdout'), entryOf('bad', 'stdout')] });
  expect(await write(body.replace('"message":"bad"', '"message":NaN'))).toBe(400);
  expect(writtenTexts()).toEqual([]);
});

it('writes the valid entries of a request with an invalid one only with partialSuccess', async () => {
  const entries = [entryOf('first', 'stdout'), entryOf('bad', 'no such stream'), entryOf('last', 'stdout')];
  expect(await write(JSON.stringify({ entries }))).toBe(400);
  expect(writtenTexts()).toEqual([]);
  expect(await write(JSON.stringify({ partialSuccess: true, entries }))).toBe(400);
  expect(writtenTexts()).toEqual(['first', 'last']);
});
