import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import { createCloudStorageServer } from '../../../infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '../../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openMetadataServer } from '../../../infra/embedded/compute-engine/metadata-server/server.ts';
import {
  directory as metadataDirectory,
  textLeaf,
} from '../../../infra/embedded/compute-engine/metadata-server/tree.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import { issueCertificates, type ProxyCertificates } from '../../../infra/embedded/vm-proxy/certificates.ts';
import type { Environment } from '../../../infra/embedded/vm-proxy/environment.ts';
import { createVmProxy } from '../../../infra/embedded/vm-proxy/proxy.ts';
import { createPublicReads } from '../../../infra/embedded/vm-proxy/public-reads.ts';

export const BUCKET = 'mine';

export type VmProxyUnderTest = {
  readonly port: number;
  readonly certificates: ProxyCertificates;
  close(): Promise<void>;
};

/** The proxy of a VM on the port of its metadata server, with an empty bucket. `host` is this machine's environment. */
export async function openVmProxy({
  host = {},
  publicStorage,
}: {
  readonly host?: Environment;
  readonly publicStorage?: string;
} = {}): Promise<VmProxyUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-proxy-'));
  const database = openDatabase(':memory:');
  const clock = { now: Date.now };
  const objects = openDirectoryObjectStore({ database, clock, directory, onFinalized: () => undefined });
  objects.createBucket(BUCKET);
  const certificates = await issueCertificates(Date.now());
  const fail = (error: Error) => {
    throw error;
  };
  const server = await openMetadataServer({
    port: 0,
    tree: () => metadataDirectory({ id: textLeaf('1234') }),
    proxy: createVmProxy({
      storage: getRequestListener(createCloudStorageServer(objects, { reportError: fail }).fetch),
      hasBucket: (bucket) => objects.findBucket(bucket) !== undefined,
      readPublicly: publicStorage === undefined ? undefined : createPublicReads(publicStorage, host),
      issueToken: async () => '{"access_token":"of-the-vm"}',
      host,
      certificate: () => certificates,
    }),
  });
  return {
    port: server.port,
    certificates,
    async close() {
      await server.close();
      database.close();
      await rm(directory, { recursive: true });
    },
  };
}

export type Tunnel = {
  readonly status: number;
  readonly statusMessage: string;
  readonly body: string;
  readonly socket: Socket;
};

/** Sends CONNECT to a proxy. */
export async function openTunnel({ port }: { readonly port: number }, authority: string): Promise<Tunnel> {
  const connecting = request({ port, host: '127.0.0.1', method: 'CONNECT', path: authority, agent: false }).end();
  const [response, socket, head] = (await once(connecting, 'connect')) as [IncomingMessage, Socket, Buffer];
  const status = response.statusCode ?? 0;
  socket.unshift(head);
  return {
    status,
    statusMessage: response.statusMessage ?? '',
    socket,
    body: status === 200 ? '' : await text(socket),
  };
}

/** A TLS connection through the proxy to a host of Google, by a client that trusts the proxy's authority alone. */
export async function connectSecurely(
  proxy: VmProxyUnderTest,
  host: string,
  ca = proxy.certificates.authority,
): Promise<TLSSocket> {
  const { socket } = await openTunnel(proxy, `${host}:443`);
  const secure = connectTls({ socket, servername: host, ca });
  await once(secure, 'secureConnect');
  return secure;
}

/** Sends a request as these bytes and returns the response as text, after the connection has been closed. */
export async function exchange(socket: Socket, lines: readonly string[], body = ''): Promise<string> {
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return text(socket);
}

/** An HTTP server on this machine that records what it receives, in the place of a proxy or of Google. */
export async function openRecorder(status: number, answer: string) {
  const received: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  const server: Server = createServer((incoming, response) => {
    received.push({ method: incoming.method ?? '', url: incoming.url ?? '', headers: incoming.headers });
    response.writeHead(status, { connection: 'close', 'content-length': answer.length }).end(answer);
  });
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    received.push({ method: 'CONNECT', url: incoming.url ?? '', headers: incoming.headers });
    socket.end(`HTTP/1.1 200 OK\r\n\r\n${answer}`);
  });
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
  return { received, port, origin: `http://127.0.0.1:${port}`, close };
}
