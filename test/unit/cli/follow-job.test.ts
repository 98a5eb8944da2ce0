import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import { createApiClient, type PollIntervals } from '../../../cli/client/api-client.ts';
import {
  DEPLOYMENT_POLL_INTERVALS,
  EMBEDDED_POLL_INTERVALS,
  findTarget,
  targetOf,
} from '../../../cli/client/find-target.ts';
import { followJob, streamLogs } from '../../../cli/client/follow-job.ts';
import { startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';
import { exampleLogEntry } from '../../support/embedded/example-log-entry.ts';

const SHORT: PollIntervals = { initialMs: 1, maxMs: 1, logPageMs: 1 };

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

function clientOf(pollIntervals: PollIntervals, url = cloud.endpoints.api) {
  const { signal } = new AbortController();
  return {
    signal,
    api: createApiClient(
      { ...targetOf({ ...cloud.endpoints, dataDir: cloud.dataDir }).api, url, pollIntervals },
      signal,
    ),
  };
}

/** Starts a proxy of the API that answers the first requests to a path with 429. */
async function startRateLimitedApi(path: string, { errors, retryAfter }: { errors: number; retryAfter?: string }) {
  const proxy = new Hono();
  let remaining = errors;
  proxy.all('*', ({ req }) => {
    const { pathname, search } = new URL(req.url);
    if (pathname === path && remaining > 0) {
      remaining -= 1;
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return Response.json({ error: { message: 'No more of it this minute.' } }, { status: 429, headers });
    }
    return fetch(`${cloud.endpoints.api}${pathname}${search}`);
  });
  const server = createServer(getRequestListener(proxy.fetch));
  servers.push(server);
  return `http://127.0.0.1:${await listen(server, 0)}`;
}

const ioIn = (cwd: string) => ({ cwd, stateDir: cwd, stderr: { write: () => {}, terminal: null, hasColors: false } });

describe('following a job', () => {
  it('starts with short intervals and doubles them up to the maximum of the API', async () => {
    const running = Array.from({ length: 4 }, () => viewOf('one', { state: 'RUNNING' }));
    cloud.jobs.set('one', [...running, viewOf('one')]);
    const polls: number[] = [];
    const { signal, api } = clientOf({ initialMs: 20, maxMs: 60, logPageMs: 0 });
    await followJob(api, 'one', { signal, onJob: () => void polls.push(performance.now()) });

    const waits = polls.slice(1).map((at, index) => at - (polls[index] ?? 0));
    // Timers can fire a millisecond early.
    expect(waits.map((ms, index) => ms >= ([20, 40, 60, 60][index] ?? 0) - 1)).toEqual([true, true, true, true]);
  });

  it('reads one short page per poll while the job runs, and the rest of the log when it has ended', async () => {
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one', { state: 'RUNNING' }), viewOf('one')]);
    cloud.logs.push(...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(exampleLogEntry));
    const lines: string[] = [];
    const { signal, api } = clientOf(SHORT);
    await streamLogs(api, 'one', { signal, onEntry: ({ text }) => lines.push(text) });

    expect(lines.join('')).toBe('abcdefg');
    const poll = ['GET /v1/changes', 'GET /v1/jobs/one', 'GET /v1/jobs/one/logs'];
    expect(cloud.requests).toEqual([...poll, ...poll, ...poll, poll[2], poll[2]]);
  });

  it('reads a quiet job once, and again when it has changed, but its log with each poll', async () => {
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' })]);
    cloud.onAnswer = () => {
      const polls = cloud.requests.filter((request) => request === 'GET /v1/changes').length;
      if (polls === 4 && cloud.jobs.get('one')?.[0]?.state === 'RUNNING') {
        cloud.jobs.set('one', [viewOf('one')]);
      }
    };
    const { signal, api } = clientOf(SHORT);
    await streamLogs(api, 'one', { signal, onEntry: () => {} });

    const countOf = (path: string) => cloud.requests.filter((request) => request === `GET ${path}`).length;
    expect([countOf('/v1/changes'), countOf('/v1/jobs/one'), countOf('/v1/jobs/one/logs')]).toEqual([5, 2, 5]);
  });

  it.each(['/v1/changes', '/v1/jobs/one', '/v1/jobs/one/logs'])('retries while %s is rate limited', async (path) => {
    cloud.jobs.set('one', [viewOf('one')]);
    cloud.logs.push(exampleLogEntry('the end'));
    const lines: string[] = [];
    const { signal, api } = clientOf(SHORT, await startRateLimitedApi(path, { errors: 3 }));
    const job = await streamLogs(api, 'one', { signal, onEntry: ({ text }) => lines.push(text) });

    expect([job.state, lines]).toEqual(['SUCCEEDED', ['the end']]);
  });

  it('waits for the time in Retry-After', async () => {
    cloud.jobs.set('one', [viewOf('one')]);
    const { signal, api } = clientOf(
      SHORT,
      await startRateLimitedApi('/v1/jobs/one', { errors: 1, retryAfter: '0.2' }),
    );
    const startedAt = performance.now();
    await followJob(api, 'one', { signal });

    expect(performance.now() - startedAt).toBeGreaterThan(198);
  });

  it('fails with the server’s message after too many retries', async () => {
    const { signal, api } = clientOf(SHORT, await startRateLimitedApi('/v1/jobs/one', { errors: 1_000 }));
    await expect(followJob(api, 'one', { signal })).rejects.toThrow('No more of it this minute.');
  });
});

describe('the address of the page', () => {
  it.each([
    [{ pageUrl: 'https://page.example/' }, 'https://page.example'],
    [{ pageUrl: null }, null],
    [{}, null],
  ])('of a deployment with %j is %s', async (settings, expected) => {
    const deployment = join(cloud.dataDir, 'deployment.json');
    const required = { projectId: 'p', uploadBucket: 'uploads', jobsBucket: 'jobs', api: 'https://api.example' };
    await writeFile(deployment, JSON.stringify({ ...required, ...settings }));
    const { pageUrl } = await findTarget({ deployment, dataDir: undefined, io: ioIn(cloud.dataDir) });
    expect(pageUrl).toBe(expected);
  });
});

describe('poll intervals', () => {
  it('let several followers share a deployment’s quota of 60 reads per minute', async () => {
    const deployment = join(cloud.dataDir, 'deployment.json');
    const settings = { projectId: 'p', uploadBucket: 'uploads', jobsBucket: 'jobs', api: 'https://api.example' };
    await writeFile(deployment, JSON.stringify(settings));
    const { api } = await findTarget({ deployment, dataDir: undefined, io: ioIn(cloud.dataDir) });

    expect(api.pollIntervals).toBe(DEPLOYMENT_POLL_INTERVALS);
    expect(60_000 / DEPLOYMENT_POLL_INTERVALS.maxMs).toBeLessThanOrEqual(60 / 5);
    expect(60_000 / DEPLOYMENT_POLL_INTERVALS.logPageMs).toBeLessThanOrEqual(60 / 2);
  });

  it('are short for an embedded cloud', async () => {
    const { api } = await findTarget({ deployment: undefined, dataDir: cloud.dataDir, io: ioIn(cloud.dataDir) });
    expect(api.pollIntervals).toBe(EMBEDDED_POLL_INTERVALS);
  });
});
