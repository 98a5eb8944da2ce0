import type { Server } from 'node:http';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { decodeMessage } from '#functions/pushed-message.ts';
import { registerFunction } from '#functions/register-function.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { attributesOf, traceIdOf } from '#shared/observability/invocation.ts';
import { createLogger } from '#shared/observability/logger.ts';
import { maskCredentials } from '#shared/package/scan/credential-patterns.ts';
import { provisionMessageSchema } from '#shared/protocol/stage-message.ts';

const TRACE = 'logging.googleapis.com/trace';
const LABELS = 'logging.googleapis.com/labels';
const REPORTED_ERROR = 'type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent';

const log: Record<string, unknown>[] = [];
let thrown: unknown;
const servers: Server[] = [];
const ports = new Map<string, number>();

beforeAll(async () => {
  const logger = createLogger((line) => void log.push(JSON.parse(line)), {
    ...{ mask: maskCredentials, projectId: 'p', release: 'r1' },
  });
  const fail = async () => {
    throw thrown;
  };
  registerFunction('teardown', logger, fail);
  registerFunction('heartbeat', logger, fail);
  registerFunction('watch', logger, async () => {
    setTimeout(() => void fail().catch((error) => process.nextTick(() => raise(error))));
    await new Promise(() => {});
  });
  registerFunction('provision', logger, async (pushed) => void decodeMessage(pushed, provisionMessageSchema));
  for (const name of ['teardown', 'heartbeat', 'watch', 'provision']) {
    const server = getTestServer(name);
    servers.push(server);
    ports.set(name, await listen(server, 0));
  }
});
afterAll(async () => void (await Promise.all(servers.map(closeServer))));
afterEach(() => {
  log.length = 0;
});

async function call(name: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://${HOST}:${ports.get(name)}/`, {
    ...{ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } },
  });
  return [response.status, await response.text()];
}

function raise(error: unknown): never {
  throw error;
}

/** A message as Pub/Sub pushes it for the fourth time. */
function push(data: object, attributes: Readonly<Record<string, string>> = {}, name = 'teardown') {
  const message = { data: Buffer.from(JSON.stringify(data)).toString('base64'), messageId: '7', attributes };
  return call(name, { subscription: 'projects/p/subscriptions/s', message, deliveryAttempt: 4 });
}

it.each<[string, unknown]>([
  ['an error', new Error('The store at https://user:hunter2@db is unavailable.')],
  ['an error of a megabyte', new Error(`${'x'.repeat(1 << 20)} ya29.hunter2hunter2`)],
  ['an aggregate', new AggregateError([new Error('one', { cause: 'https://user:hunter2@db' })], 'one failed')],
  ['a string', 'Bearer hunter2hunter2 was rejected'],
  ['nothing', undefined],
])('logs what a handler throws once, with its message, job and trace, and answers without it: %s', async (_, given) => {
  thrown = given;

  expect(await push({ type: 'TEARDOWN', jobId: 'digits' })).toEqual([500, 'Internal Server Error']);

  expect(log).toMatchObject([
    {
      ...{ severity: 'ERROR', kind: 'error', jobId: 'digits', messageId: '7', deliveryAttempt: 4, topic: 'teardown' },
      ...{ problem: expect.any(String), serviceContext: { service: 'teardown', version: 'r1' } },
      ...{ [LABELS]: { job_id: 'digits' }, [TRACE]: `projects/p/traces/${traceIdOf('digits')}` },
    },
  ]);
  expect(log[0]).toMatchObject(
    given instanceof Error ? { stack_trace: expect.stringMatching(/\n {4}at /) } : { '@type': REPORTED_ERROR },
  );
  expect(JSON.stringify(log)).not.toContain('hunter2');
});

it('logs what a callback throws, which no handler can catch', async () => {
  thrown = new Error('The store at https://user:hunter2@db is unavailable.');
  expect(await push({ type: 'TICK', jobId: 'digits' }, {}, 'watch')).toEqual([500, 'Internal Server Error']);
  expect(log).toMatchObject([
    {
      ...{ severity: 'ERROR', kind: 'error', jobId: 'digits', messageId: '7', topic: 'tick' },
      ...{ problem: 'The store at https://***@db is unavailable.', stack_trace: expect.any(String) },
    },
  ]);
});

it('logs in the trace that the message brings, also if it names no job', async () => {
  const { traceparent } = attributesOf('digits');
  await push({ type: 'SWEEP' }, { traceparent });
  await push({ type: 'SWEEP' }, { traceparent: 'not one' });
  await push({ type: 'SWEEP' });
  const [brought, invalid, own] = log.map((line) => line[TRACE]);
  expect(brought).toBe(`projects/p/traces/${traceIdOf('digits')}`);
  expect([own, invalid]).toEqual([own, own]);
  expect(own).not.toBe(brought);
});

it('logs what a request causes in the trace of Cloud Run', async () => {
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
  expect(await call('heartbeat', {}, { traceparent })).toEqual([500, 'Internal Server Error']);
  expect(log).toMatchObject([
    { serviceContext: { service: 'heartbeat' }, [TRACE]: `projects/p/traces/${'ab'.repeat(16)}` },
  ]);
});

it('acknowledges what is no message', async () => {
  expect(await call('teardown', { message: 'none' })).toEqual([204, '']);
  expect(log).toMatchObject([{ severity: 'ERROR', message: 'message is malformed', topic: 'teardown' }]);
});

it('names the message and its job in the line of one that has attributes only', async () => {
  const message = { messageId: '7', attributes: { jobId: 'digits' } };
  expect(await call('provision', { subscription: 'projects/p/subscriptions/s', message })).toEqual([204, '']);
  expect(log).toMatchObject([{ message: 'message is malformed', messageId: '7', jobId: 'digits', topic: 'provision' }]);
});
