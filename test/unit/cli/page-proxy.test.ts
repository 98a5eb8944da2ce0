import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type PageProxy, startPageProxy } from '../../../cli/client/page-proxy.ts';
import { closeServer, listen } from '../../../infra/embedded/http/server.ts';

type Received = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

let received: Received[];
let proxy: PageProxy;
let origin: string;
const resources: (() => Promise<void>)[] = [];

beforeEach(async () => {
  received = [];
  const upstream = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk);
    }
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'upstream=1' }).end('{"jobs":[]}');
  });
  const port = await listen(upstream, 0);
  proxy = await startPageProxy({
    url: `http://127.0.0.1:${port}`,
    authorize: async () => ({ authorization: 'Bearer identity' }),
  });
  origin = new URL(proxy.address).origin;
  resources.push(
    () => proxy.close(),
    () => closeServer(upstream),
  );
});
afterEach(async () => {
  for (const close of resources.splice(0)) {
    await close();
  }
});

async function openSession(): Promise<string> {
  const response = await fetch(proxy.address, { redirect: 'manual' });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('url=/"')]);
  const cookie = response.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
  return cookie.split(';')[0] ?? '';
}

it('adds the identity of the user to the requests of its page', async () => {
  const cookie = await openSession();

  const response = await fetch(`${origin}/v1/jobs?text=a`, { headers: { cookie, 'if-none-match': '"1"' } });

  expect([response.status, response.headers.get('set-cookie'), await response.json()]).toEqual([
    200,
    null,
    { jobs: [] },
  ]);
  const [{ url, headers } = { url: '', headers: {} }] = received;
  expect([url, headers.authorization, headers['if-none-match']]).toEqual(['/v1/jobs?text=a', 'Bearer identity', '"1"']);
  expect(headers.cookie).toBeUndefined();
});

it('forwards bodies of the page', async () => {
  const cookie = await openSession();
  const headers = { cookie, 'x-dropforge-page': '1', 'content-type': 'application/json', origin };

  await fetch(`${origin}/v1/jobs`, { method: 'POST', headers, body: '{"a":1}' });

  expect(received[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
  expect(received[0]?.headers.origin).toBeUndefined();
});

it('rejects a second use of the address', async () => {
  await openSession();
  expect((await fetch(proxy.address, { redirect: 'manual' })).status).toBe(403);
});

it.each([
  ['without the cookie', {}, 'GET'],
  ['with a wrong cookie', { cookie: 'dropforge-1=x' }, 'GET'],
  ['of another origin', { origin: 'http://evil.example' }, 'GET'],
])('rejects requests %s, and sends nothing to the API', async (_, headers, method) => {
  await openSession();
  const response = await fetch(`${origin}/v1/jobs`, { method, headers });
  expect([response.status, received]).toEqual([403, []]);
});

it('rejects changes without the header of the page', async () => {
  const cookie = await openSession();
  const response = await fetch(`${origin}/v1/jobs/a:cancel`, { method: 'POST', headers: { cookie } });
  expect([response.status, received]).toEqual([403, []]);
});

it.each(['//', '/\\', 'http://[', '*', '/open?token=%'])(
  'answers a request for the path %s, and goes on',
  async (path) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);

    expect((await text(socket)).split('\r\n')[0]).toBe('HTTP/1.1 403 Forbidden');
    await openSession();
  },
);

it('reports an API that is unreachable, with a remedy', async () => {
  const broken = await startPageProxy({ url: 'http://127.0.0.1:1', authorize: async () => ({}) });
  resources.push(() => broken.close());
  const cookie = (await fetch(broken.address, { redirect: 'manual' })).headers.get('set-cookie')?.split(';')[0] ?? '';
  const response = await fetch(new URL('/v1/jobs', broken.address), { headers: { cookie } });
  expect([response.status, await response.json()]).toMatchObject([
    502,
    { error: { remedy: expect.stringContaining('network') } },
  ]);
});
