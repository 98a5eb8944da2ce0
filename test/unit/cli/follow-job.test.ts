import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import { createApiClient } from '../../../cli/client/api-client.ts';
import { findTarget, targetOf } from '../../../cli/client/find-target.ts';
import { followJob, streamLogs } from '../../../cli/client/follow-job.ts';
import { DEPLOYMENT_PACE, EMBEDDED_PACE, type Pace } from '../../../cli/client/poll-intervals.ts';
import { startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';
import { exampleLogEntry } from '../../support/embedded/example-log-entry.ts';

const QUICK: Pace = { firstMs: 1, lookMs: 1, pageMs: 1 };

let cloud: TestCloud;
let servers: Server[];

beforeEach(async () => {
  cloud = await startTestCloud();
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map(closeServer));
  await cloud.close();
});

function clientOf(pace: Pace, url = cloud.endpoints.api) {
  const { signal } = new AbortController();
  return { signal, api: createApiClient({ ...targetOf(cloud.endpoints).api, url, pace }, signal) };
}

/** The API behind a front door that is busy for the first requests to a path. */
async function openBusyDoor(path: string, { refusals, retryAfter }: { refusals: number; retryAfter?: string }) {
  const door = new Hono();
  let left = refusals;
  door.all('*', ({ req }) => {
    const { pathname, search } = new URL(req.url);
    if (pathname === path && left > 0) {
      left -= 1;
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return Response.json({ error: { message: 'No more of it this minute.' } }, { status: 429, headers });
    }
    return fetch(`${cloud.endpoints.api}${pathname}${search}`);
  });
  const server = createServer(getRequestListener(door.fetch));
  servers.push(server);
  return `http://127.0.0.1:${await listen(server, 0)}`;
}

describe('following a job', () => {
  it('looks sooner at first, and then at the pace of the API', async () => {
    const running = Array.from({ length: 4 }, () => viewOf('one', { state: 'RUNNING' }));
    cloud.jobs.set('one', [...running, viewOf('one')]);
    const looks: number[] = [];
    const { signal, api } = clientOf({ firstMs: 20, lookMs: 60, pageMs: 0 });
    await followJob(api, 'one', { signal, onJob: () => void looks.push(performance.now()) });

    const waits = looks.slice(1).map((at, index) => at - (looks[index] ?? 0));
    // Timers may be a millisecond early.
    expect(waits.map((ms, index) => ms >= ([20, 40, 60, 60][index] ?? 0) - 1)).toEqual([true, true, true, true]);
  });

  it('reads the log of a job that goes on once a look, and to its end when it has ended', async () => {
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one', { state: 'RUNNING' }), viewOf('one')]);
    cloud.logs.push(...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(exampleLogEntry));
    const lines: string[] = [];
    const { signal, api } = clientOf(QUICK);
    await streamLogs(api, 'one', { signal, onEntry: ({ text }) => lines.push(text) });

    expect(lines.join('')).toBe('abcdefg');
    const [look, read] = ['GET /v1/jobs/one', 'GET /v1/jobs/one/logs'];
    expect(cloud.requests).toEqual([look, read, look, read, look, read, read, read]);
  });

  it.each(['/v1/jobs/one', '/v1/jobs/one/logs'])('goes on when %s is busy for a while', async (path) => {
    cloud.jobs.set('one', [viewOf('one')]);
    cloud.logs.push(exampleLogEntry('the end'));
    const lines: string[] = [];
    const { signal, api } = clientOf(QUICK, await openBusyDoor(path, { refusals: 3 }));
    const job = await streamLogs(api, 'one', { signal, onEntry: ({ text }) => lines.push(text) });

    expect([job.state, lines]).toEqual(['SUCCEEDED', ['the end']]);
  });

  it('waits as long as a busy server asks for', async () => {
    cloud.jobs.set('one', [viewOf('one')]);
    const { signal, api } = clientOf(QUICK, await openBusyDoor('/v1/jobs/one', { refusals: 1, retryAfter: '0.2' }));
    const startedAt = performance.now();
    await followJob(api, 'one', { signal });

    expect(performance.now() - startedAt).toBeGreaterThan(198);
  });

  it('ends with the words of a server that stays busy', async () => {
    const { signal, api } = clientOf(QUICK, await openBusyDoor('/v1/jobs/one', { refusals: 1_000 }));
    await expect(followJob(api, 'one', { signal })).rejects.toThrow('No more of it this minute.');
  });
});

describe('the pace', () => {
  it('leaves a deployment’s quota of 60 reads a minute to several followers', async () => {
    const deployment = join(cloud.dataDir, 'deployment.json');
    const places = { projectId: 'p', uploadBucket: 'uploads', jobsBucket: 'jobs', api: 'https://api.example' };
    await writeFile(deployment, JSON.stringify(places));
    const { api } = await findTarget({ deployment, dataDir: undefined, io: { cwd: cloud.dataDir } });

    expect(api.pace).toBe(DEPLOYMENT_PACE);
    expect(60_000 / DEPLOYMENT_PACE.lookMs).toBeLessThanOrEqual(60 / 5);
    expect(60_000 / DEPLOYMENT_PACE.pageMs).toBeLessThanOrEqual(60 / 2);
  });

  it('is lively on an embedded cloud', async () => {
    const { api } = await findTarget({ deployment: undefined, dataDir: cloud.dataDir, io: { cwd: cloud.dataDir } });
    expect(api.pace).toBe(EMBEDDED_PACE);
  });
});
