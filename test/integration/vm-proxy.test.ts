import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { VM_TOKEN_PREFIX } from '../../infra/embedded/vm-proxy/google-apis.ts';
import { isLocalHost, lookupInTurn, lookupRemote } from '../../infra/embedded/vm-proxy/local-addresses.ts';
import { readTrust, renewTrust, trustFilesOf } from '../../infra/embedded/vm-proxy/trust.ts';
import { openVmCloudUnderTest } from '../support/contract/vm-cloud-under-test.ts';
import {
  BUCKET,
  connectSecurely,
  exchange,
  openRecorder,
  openTunnel,
  openVmProxy,
  type VmProxyUnderTest,
} from '../support/embedded/vm-proxy-under-test.ts';

const STORAGE = 'storage.googleapis.com';
/** Loads its certificate authorities once, before the restart. */
const LONG_RUNNING = `
import os, ssl, time, urllib.error, urllib.request
os.chdir(os.environ["DROPFORGE_HOME"])
context = ssl.create_default_context()
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
try:
    answer = urllib.request.urlopen("https://storage.googleapis.com/b/o", context=context).status
except urllib.error.HTTPError as error:
    answer = error.code
with open("draft", "w") as file:
    file.write(str(answer))
os.rename("draft", "answer")
`;

import { leaveOut } from '../support/run/leave-out.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function open(options: Parameters<typeof openVmProxy>[0]): Promise<VmProxyUnderTest> {
  const proxy = await openVmProxy(options);
  closing.push(proxy.close);
  return proxy;
}

/** A server that answers every request with these bytes, and closes the connection. */
async function answerWith(bytes: string): Promise<{ readonly origin: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(bytes, 'latin1', () => socket.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.close();
    await once(server, 'close');
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function record(status: number, answer: string) {
  const recorder = await openRecorder(status, answer);
  closing.push(recorder.close);
  return recorder;
}

describe("the proxy of a VM, for Google's hosts", () => {
  let proxy: VmProxyUnderTest;

  beforeAll(async () => {
    proxy = await openVmProxy();
  });
  afterAll(() => proxy.close());

  /** Sends one request over TLS and returns the response as text, header names as written. */
  async function send(host: string, firstLine: string, rest: readonly string[] = []): Promise<string> {
    const [headers, body] = [
      rest.filter((line) => /^[\w-]+: /.test(line)),
      rest.find((line) => !/^[\w-]+: /.test(line)),
    ];
    const socket = await connectSecurely(proxy, host);
    return exchange(socket, [`${firstLine} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers], body);
  }

  it('stores and serves objects, at the path and at the host of the bucket', async () => {
    await send(STORAGE, `PUT /${BUCKET}/a.txt`, ['Content-Length: 5', 'hello']);
    expect(await send(STORAGE, `GET /${BUCKET}/a.txt`)).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nhello$/);
    expect(await send(`${BUCKET}.${STORAGE}`, 'GET /a.txt')).toMatch(/hello$/);
    expect(await send('www.googleapis.com', `GET /storage/v1/b/${BUCKET}/o`)).toContain('"name":"a.txt"');
  });

  it('is rejected by a client that does not trust its authority', async () => {
    const other = await open({});
    await expect(connectSecurely(proxy, STORAGE, other.certificates.authority)).rejects.toThrow(/certificate/);
  });

  it("writes links of Google's hosts, in the letters that TensorFlow looks for", async () => {
    const path = `/upload/storage/v1/b/${BUCKET}/o?uploadType=resumable&name=x`;
    const started = await send(STORAGE, `POST ${path}`, ['Content-Length: 0']);
    const [, session = ''] = /\r\nLocation: https:\/\/storage\.googleapis\.com(\/\S+)\r\n/.exec(started) ?? [];
    expect(session).toContain('upload_id=');
    const chunk = ['Content-Range: bytes 0-262143/*', 'Content-Length: 262144', 'a'.repeat(262_144)];
    expect(await send(STORAGE, `PUT ${session}`, chunk)).toContain('\r\nRange: bytes=0-262143\r\n');
  });

  it.each([
    ['identity with a Content-Length', ['Transfer-Encoding: identity', 'Content-Length: 0']],
    ['identity alone', ['Transfer-Encoding: identity']],
  ])('answers a request without body that says %s, as TensorFlow does', async (_, headers) => {
    const path = `/upload/storage/v1/b/${BUCKET}/o?uploadType=resumable&name=y`;
    const socket = await connectSecurely(proxy, STORAGE);
    const answer = await exchange(socket, [`POST ${path} HTTP/1.1`, `Host: ${STORAGE}`, ...headers]);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('reads a chunked body beside a Content-Length, as TensorFlow sends it', async () => {
    const headers = ['Transfer-Encoding: chunked', 'Content-Length: 3'];
    await send(STORAGE, `PUT /${BUCKET}/chunked`, [...headers, '3\r\nabc\r\n0\r\n\r\n']);
    expect(await send(STORAGE, `GET /${BUCKET}/chunked`)).toMatch(/\r\n\r\nabc$/);
  });

  it('answers Expect: 100-continue before the body arrives', async () => {
    const lines = ['Expect: 100-continue', 'Content-Length: 3', 'abc'];
    expect(await send(STORAGE, `PUT /${BUCKET}/expected`, lines)).toMatch(/^HTTP\/1.1 100 [\s\S]*HTTP\/1.1 200 /);
  });

  it.each([
    'compute.googleapis.com',
    'bigquery.googleapis.com',
    'www.googleapis.com',
    'oauth2.googleapis.com',
    'accounts.google.com',
  ])('rejects what the embedded cloud does not offer at %s', async (host) => {
    const answer = await send(host, 'GET /some/v1/thing');
    expect(answer).toMatch(/^HTTP\/1.1 501 /);
    expect(answer).toContain(`The embedded cloud does not offer ${host}/some/v1/thing`);
  });

  it.each([
    ['oauth2.googleapis.com', '/token'],
    ['www.googleapis.com', '/oauth2/v4/token'],
    ['accounts.google.com', '/o/oauth2/token'],
    ['sts.googleapis.com', '/v1/token'],
  ])('exchanges credentials at %s%s for the token of the VM', async (host, path) => {
    const answer = await send(host, `POST ${path}`, ['Content-Length: 12', 'assertion=ab']);
    expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*\{"access_token":"of-the-vm"\}/);
  });

  it.each(['//', '//?x=y', 'http://[', '///a'])('rejects the path %s, which is not a URL', async (path) => {
    expect(await send(STORAGE, `GET ${path}`)).toMatch(/^HTTP\/1.1 4\d\d /);
    expect(await send(STORAGE, `GET /${BUCKET}/none`)).toMatch(/^HTTP\/1.1 404 /);
  });

  it('rejects requests of web pages, over TLS and without', async () => {
    expect(await send(STORAGE, `GET /${BUCKET}/a.txt`, ['Origin: https://page.test'])).toMatch(/^HTTP\/1.1 403 /);
    const { socket } = await openTunnel(proxy, `${STORAGE}:80`);
    const request = [`GET /${BUCKET}/a.txt HTTP/1.1`, `Host: ${STORAGE}`, 'Connection: close', 'Origin: null'];
    expect(await exchange(socket, request)).toMatch(/^HTTP\/1.1 403 /);
  });

  it('serves the metadata server by its names, but not to a page whose name resolves to this machine', async () => {
    const path = '/computeMetadata/v1/id';
    const read = async (authority: string, host: string) => {
      const { socket } = await openTunnel(proxy, authority);
      const headers = [`Host: ${host}`, 'Metadata-Flavor: Google', 'Connection: close'];
      return exchange(socket, [`GET ${path} HTTP/1.1`, ...headers]);
    };
    expect(await read('metadata.google.internal:80', 'metadata.google.internal')).toContain('\r\n1234\r\n');
    expect(await read('metadata.google.internal:80', 'page.test')).toMatch(/^HTTP\/1.1 403 /);
  });
});

describe('the proxy of a VM, for other hosts', () => {
  it.each([
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    '[::1]',
    '0.0.0.0',
    '127.9.9.9',
    '[::ffff:127.0.0.1]',
    '169.254.1.1',
  ])('opens no connection to %s', async (host) => {
    const target = await record(200, 'reached');
    const proxy = await open({});
    const tunnel = await openTunnel(proxy, `${host}:${target.port}`);
    expect(tunnel).toMatchObject({ status: 403, body: expect.stringContaining('NO_PROXY') });
    const { socket } = await openTunnel(proxy, 'metadata:80');
    const url = `http://${host}:${target.port}/`;
    expect(await exchange(socket, [`GET ${url} HTTP/1.1`, 'Host: x', 'Connection: close'])).toMatch(/^HTTP\/1.1 403 /);
    expect(target.received).toEqual([]);
  });

  it('knows the addresses of this machine, also behind a name', async () => {
    expect(['fe80::1', '::', '0:0:0:0:0:0:0:1'].map(isLocalHost)).toEqual([true, true, true]);
    expect(['192.0.2.1', '2001:db8::1', 'localhost.example.com'].map(isLocalHost)).toEqual([false, false, false]);
    const found = new Promise((resolve) => lookupRemote('localhost', {}, resolve));
    expect(await found).toMatchObject({ message: expect.stringContaining('localhost') });
  });

  it('resolves any number of names, a few at a time', async () => {
    const names = Array.from({ length: 20 }, () => 'localhost');
    const found = names.map(
      (name) => new Promise((resolve) => lookupInTurn(name, {}, (_, address) => resolve(address))),
    );
    expect(new Set(await Promise.all(found)).size).toBe(1);
  });

  it("goes through this machine's own proxy, with its credentials, except where NO_PROXY says so", async () => {
    const upstream = await record(200, 'by the upstream');
    const https_proxy = `http://user:p%20w@127.0.0.1:${upstream.port}`;
    const proxy = await open({ host: { https_proxy, NO_PROXY: 'intranet.test,.direct.test:443' } });
    const { socket } = await openTunnel(proxy, 'pypi.test:443');
    expect(await exchange(socket, ['hello'])).toBe('by the upstream');
    expect(upstream.received).toMatchObject([
      {
        method: 'CONNECT',
        url: 'pypi.test:443',
        headers: { 'proxy-authorization': `Basic ${Buffer.from('user:p w').toString('base64')}` },
      },
    ]);
    // These names do not exist, so that a direct connection fails.
    const direct = await Promise.all(
      ['intranet.test:443', 'a.intranet.test:8443', 'x.direct.test:443'].map((name) => openTunnel(proxy, name)),
    );
    expect(direct.map(({ status }) => status)).toEqual([502, 502, 502]);
    expect(direct[0]?.statusMessage).toMatch(/^Bad Gateway: .*intranet\.test/);
    expect(upstream.received).toHaveLength(1);
  });

  it("sends plain requests through this machine's own proxy, without what concerns one connection", async () => {
    const upstream = await record(203, 'plain');
    const proxy = await open({ host: { HTTP_PROXY: upstream.origin } });
    const { socket } = await openTunnel(proxy, 'metadata:80');
    const headers = ['Host: index.test', 'Proxy-Authorization: Basic eA==', 'Accept: text/x', 'Connection: close'];
    const answer = await exchange(socket, ['GET http://index.test/simple/?a=b HTTP/1.1', ...headers]);
    expect(answer).toMatch(/^HTTP\/1.1 203 [\s\S]*plain/);
    expect(upstream.received).toMatchObject([{ method: 'GET', url: 'http://index.test/simple/?a=b' }]);
    expect(upstream.received[0]?.headers).toMatchObject({ accept: 'text/x' });
    expect(upstream.received[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it.each([
    'HTTP/1.1 000 None',
    'HTTP/1.1 099 Early',
    'HTTP/1.1 999 Late',
    'HTTP/1.1 200 O\u0007K',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\nTrailer: x',
    'HTTP/1.1 200 OK\r\nX-A: \u00ff\r\nContent-Length: 0',
  ])('goes on after the answer %j', async (head) => {
    const upstream = await answerWith(`${head}\r\n\r\n`);
    const proxy = await open({ host: { HTTP_PROXY: upstream.origin } });
    const { socket } = await openTunnel(proxy, 'metadata:80');
    const request = ['GET http://index.test/ HTTP/1.1', 'Host: index.test', 'Connection: close'];
    expect(await exchange(socket, request)).toMatch(/^HTTP\/1.1 \d{3} /);
  });

  it("ignores credentials of this machine's proxy that are not encoded as in a URL", async () => {
    const upstream = await record(200, 'plain');
    const proxy = await open({ host: { HTTP_PROXY: `http://user:100%@127.0.0.1:${upstream.port}` } });
    const { socket } = await openTunnel(proxy, 'metadata:80');
    const request = ['GET http://index.test/ HTTP/1.1', 'Host: index.test', 'Connection: close'];
    expect(await exchange(socket, request)).toMatch(/plain$/);
    const sent = `Basic ${Buffer.from('user:100%').toString('base64')}`;
    expect(upstream.received[0]?.headers['proxy-authorization']).toBe(sent);
  });

  const remote = Object.values(networkInterfaces())
    .flat()
    .filter((found) => found?.family === 'IPv4' && !found.internal)
    .slice(0, 1);
  if (remote.length === 0) {
    leaveOut('an address other than the loopback', 'direct connections of a VM');
  }
  it.each(remote)('connects directly to $address without a proxy of this machine', async (found) => {
    const target = await record(200, 'directly');
    const proxy = await open({});
    const { socket } = await openTunnel(proxy, `${found?.address}:${target.port}`);
    expect(await exchange(socket, ['GET / HTTP/1.1', 'Host: x'])).toMatch(/directly$/);
  });
});

describe('anonymous reads of a bucket that is not here', () => {
  async function read(proxy: VmProxyUnderTest, path: string, headers: readonly string[] = []): Promise<string> {
    const socket = await connectSecurely(proxy, STORAGE);
    return exchange(socket, [`GET ${path} HTTP/1.1`, `Host: ${STORAGE}`, 'Connection: close', ...headers]);
  }

  it('go on to Google, with no header that could identify or authorize', async () => {
    const google = await record(200, 'public data');
    const proxy = await open({ publicStorage: google.origin });
    const headers = ['Range: bytes=0-3', 'X-Forwarded-For: me', 'Referer: http://intranet.test/'];
    expect(await read(proxy, '/keras-datasets/mnist.npz?x=1', headers)).toMatch(/public data$/);
    expect(await read(proxy, '/storage/v1/b/keras-datasets/o/mnist.npz?alt=media')).toMatch(/public data$/);
    expect(google.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /keras-datasets/mnist.npz?x=1',
      'GET /storage/v1/b/keras-datasets/o/mnist.npz?alt=media',
    ]);
    expect(Object.keys(google.received[0]?.headers ?? {}).toSorted()).toEqual(['connection', 'host', 'range']);
  });

  it.each([
    ['a token of another account', '/keras-datasets/mnist.npz', ['Authorization: Bearer x']],
    ['a signature', '/keras-datasets/mnist.npz?X-Goog-Signature=x', []],
    ['a key', '/storage/v1/b/keras-datasets/o/mnist.npz?key=x', []],
    ['a cookie', '/keras-datasets/mnist.npz', ['Cookie: x=y']],
    ['a bucket that is here', `/${BUCKET}/mnist.npz`, []],
  ])('stay here with %s', async (_, path, headers) => {
    const google = await record(200, 'public data');
    const proxy = await open({ publicStorage: google.origin });
    expect(await read(proxy, path, headers)).toMatch(/^HTTP\/1.1 404 /);
    expect(google.received).toEqual([]);
  });

  it("go on with the VM's own token too, without it, and are answered here if Google denies them", async () => {
    const google = await record(200, 'public data');
    const headers = [`Authorization: Bearer ${VM_TOKEN_PREFIX}x`];
    const path = '/storage/v1/b/cloud-samples-data/o/a.csv?alt=media';
    expect(await read(await open({ publicStorage: google.origin }), path, headers)).toMatch(/public data$/);
    expect(google.received[0]?.headers).not.toHaveProperty('authorization');

    const denying = await record(401, 'Anonymous caller does not have access.');
    const answer = await read(await open({ publicStorage: denying.origin }), path, headers);
    expect(answer).toMatch(/^HTTP\/1.1 404 [\s\S]*The bucket cloud-samples-data does not exist/);

    const closed = await openRecorder(200, '');
    await closed.close();
    const unreachable = await read(await open({ publicStorage: closed.origin }), path, headers);
    expect(unreachable).toMatch(/^HTTP\/1.1 404 [\s\S]*could not be read: connect ECONNREFUSED/);
  });

  it('stay here if they are switched off', async () => {
    expect(await read(await open({}), '/keras-datasets/mnist.npz')).toMatch(/^HTTP\/1.1 404 /);
  });

  it('fail with the reason if the answer is another protocol', async () => {
    const google = await answerWith('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    const proxy = await open({ publicStorage: google.origin });
    const answer = await read(proxy, '/keras-datasets/mnist.npz');
    expect(answer).toMatch(/^HTTP\/1.1 502 .*could not be read: 127.0.0.1:\d+ changed to another protocol/);
  });

  it('fail with the reason if Google cannot be reached', async () => {
    const google = await openRecorder(200, '');
    await google.close();
    const proxy = await open({ publicStorage: google.origin });
    expect(await read(proxy, '/keras-datasets/mnist.npz')).toMatch(
      /^HTTP\/1.1 502 Bad Gateway: .* could not be read: connect ECONNREFUSED[\s\S]*no such bucket/,
    );
  });
});

describe("the certificates of a VM's proxy", () => {
  it('are kept for the next start of the embedded cloud, with a key that only its user can read', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dropforge-trust-'));
    try {
      const corporate = join(directory, 'corporate.pem');
      const issued = await renewTrust(join(directory, 'proxy'), { REQUESTS_CA_BUNDLE: corporate });
      expect(await readTrust(join(directory, 'proxy'))).toEqual({
        certificate: issued.certificate,
        privateKey: issued.privateKey,
      });
      expect((await stat(join(directory, 'proxy', 'certificate.pem'))).mode & 0o777).toBe(0o600);
      expect(await readTrust(join(directory, randomBytes(4).toString('hex')))).toBeUndefined();
      const { bundle, authority } = trustFilesOf(join(directory, 'proxy'));
      const [all, own] = await Promise.all([readFile(bundle, 'utf8'), readFile(authority, 'utf8')]);
      expect(all.endsWith(own) && all.length > 2 * own.length && !own.includes('PRIVATE')).toBe(true);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('are still trusted by a program that ran on while the embedded cloud was restarted', async () => {
    const cloud = await openVmCloudUnderTest();
    try {
      const vm = await cloud.boot('trusting', `python3 -c '${LONG_RUNNING}'; sleep 60`);
      await expect.poll(() => existsSync(join(vm.disk, 'ready'))).toBe(true);
      await cloud.reopen();
      await writeFile(join(vm.disk, 'go'), '');
      await expect.poll(() => existsSync(join(vm.disk, 'answer'))).toBe(true);
      // The storage of these VMs answers every request so.
      expect(await readFile(join(vm.disk, 'answer'), 'utf8')).toBe('501');
    } finally {
      await cloud.destroy();
    }
  });
});
