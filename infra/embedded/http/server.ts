import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** The embedded cloud binds to the loopback address only. */
export const HOST = '127.0.0.1';

/** Connections that wait to be accepted. Beyond it they are reset; the default is 511, the kernel's limit often 4,096. */
const BACKLOG = 4_096;

/** A client may use an idle connection at the moment in which the server closes it; Node.js closes after 5 s. */
const KEEP_ALIVE_MS = 120_000;

/** Below the ephemeral port range of every system (Linux: 32768 and up), which systems assign to other programs. */
const CHOSEN_PORT_MIN = 20_000;
const CHOSEN_PORT_MAX = 32_000;
const PORT_ATTEMPTS_MAX = 100;

/**
 * Resolves with the port once the server listens; port 0 selects any free port. Requests from web pages are rejected.
 */
export async function listen(server: Server, port: number): Promise<number> {
  rejectWebPages(server);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(port, HOST, BACKLOG);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Returns the preferred port if it is free, otherwise another free one; 0 means no preference. Throws if none is found.
 */
export async function findFreePort(preferred: number): Promise<number> {
  let found = preferred === 0 ? undefined : await tryPort(preferred);
  for (let attempts = 0; found === undefined && attempts < PORT_ATTEMPTS_MAX; attempts += 1) {
    found = await tryPort(randomInt(CHOSEN_PORT_MIN, CHOSEN_PORT_MAX + 1));
  }
  if (found === undefined) {
    throw new Error(`No free port found on this machine between ${CHOSEN_PORT_MIN} and ${CHOSEN_PORT_MAX}.`);
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

/** Closes open connections too: messages in flight on them are redelivered. */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve, reject) =>
    server.close((error) => (error === undefined ? resolve() : reject(error))),
  );
}

/**
 * Rejects requests from web pages. A page in a browser on this machine can send requests to 127.0.0.1, and a single
 * upload is enough to run a program. Such requests carry the page's origin or, with DNS rebinding, a foreign host.
 */
function rejectWebPages(server: Server): void {
  interceptRequests(server, (request, response) => {
    const isRejected = isFromWebPage(request);
    if (isRejected) {
      reject(response, 403, 'The embedded cloud rejects requests from web pages.');
    }
    return isRejected;
  });
}

/** Calls `handle` for each request of a server; its own listeners get those for which that returns false. */
export function interceptRequests(
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse) => boolean,
): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (!handle(request, response)) {
      for (const listener of listeners) {
        listener.call(server, request, response);
      }
    }
  });
}

/** Answers with an error in Google's form. */
export function reject(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code, message } }));
}

const LOCAL_NAMES = [HOST, 'localhost', '[::1]'];

function isFromWebPage({ headers }: IncomingMessage): boolean {
  const { host = '', origin } = headers;
  const isForeignHost = !LOCAL_NAMES.includes(host.replace(/:\d+$/, ''));
  // An image of another page has no origin.
  const isEmbedded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate';
  return isForeignHost || isEmbedded || (origin !== undefined && origin !== `http://${host}`);
}
