import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** The embedded cloud is nobody's business but this machine's. */
export const HOST = '127.0.0.1';

/** Below every system's ephemeral ports (Linux's begin at 32768): no other program is given one of these unasked. */
const CHOSEN_PORT_MIN = 20_000;
const CHOSEN_PORT_MAX = 32_000;
const PORT_TRIES_MAX = 100;

/** Resolves with the port once the server listens, guarded against web pages; 0 takes any. */
export async function listen(server: Server, port: number): Promise<number> {
  guard(server);
  server.listen(port, HOST);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * The preferred port when it is free, otherwise another that is; 0 prefers none. Throws when it finds none.
 */
export async function findFreePort(preferred: number): Promise<number> {
  let found = preferred === 0 ? undefined : await tryPort(preferred);
  for (let tries = 0; found === undefined && tries < PORT_TRIES_MAX; tries += 1) {
    found = await tryPort(randomInt(CHOSEN_PORT_MIN, CHOSEN_PORT_MAX + 1));
  }
  if (found === undefined) {
    throw new Error(`No port of this machine between ${CHOSEN_PORT_MIN} and ${CHOSEN_PORT_MAX} is free.`);
  }
  return found;
}

async function tryPort(port: number): Promise<number | undefined> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(undefined));
    probe.listen(port, HOST, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}

/** Ends open connections too: what they carried is delivered again. */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve, reject) =>
    server.close((error) => (error === undefined ? resolve() : reject(error))),
  );
}

/**
 * A web page in a browser on this machine can send requests to 127.0.0.1, and one upload would be enough to run a
 * program. Such requests carry the page's origin, or, when a name was made to point here, a foreign host: they are
 * refused.
 */
function guard(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (isFromWebPage(request)) {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 403, message: 'Web pages may not use the embedded cloud.' } }));
      return;
    }
    for (const listener of listeners) {
      listener.call(server, request, response);
    }
  });
}

const LOCAL_NAMES = [HOST, 'localhost', '[::1]'];

function isFromWebPage({ headers }: IncomingMessage): boolean {
  const { host = '', origin } = headers;
  const isForeignHost = !LOCAL_NAMES.includes(host.replace(/:\d+$/, ''));
  return isForeignHost || (origin !== undefined && origin !== `http://${host}`);
}
