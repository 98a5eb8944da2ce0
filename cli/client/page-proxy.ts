import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Api } from '#cli/client/api-client.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';

/** Where the one-time token of the printed address is exchanged for a cookie. */
const OPEN_PATH = '/open';

/** Headers of the browser that the API needs; others, such as cookies, stay on this machine. */
const FORWARDED_HEADERS = [
  ...['accept', 'accept-encoding', 'content-type', 'content-length', 'transfer-encoding'],
  ...['if-none-match', 'if-range', 'range', 'x-dropforge-page'],
];

export type PageProxy = {
  /** The address to open, once: its token is replaced by a cookie. */
  readonly address: string;
  close(): Promise<void>;
};

/**
 * Serves the page of a deployment on this machine: forwards requests to the API with the user's identity. Other users
 * of the machine and other pages cannot use it: requests need the cookie that the first one gets for its token, and
 * those with another Host or Origin are rejected.
 */
export async function startPageProxy(api: Pick<Api, 'url' | 'authorize'>): Promise<PageProxy> {
  let token: string | null = randomBytes(32).toString('base64url');
  const session = randomBytes(32).toString('base64url');
  let cookie = '';

  const server = createServer((request, response) => {
    const given = readToken(request);
    if (token !== null && given !== null && isEqual(given, token)) {
      token = null;
      openSession(response, `${cookie}=${session}`);
    } else if (!hasCookie(request, cookie, session)) {
      const remedy = 'Run `dropforge dashboard` again, and open the address that it prints.';
      reject(response, { code: 403, message: 'This address has been used, or is not that of this browser.', remedy });
    } else if (!isReading(request) && request.headers['x-dropforge-page'] === undefined) {
      reject(response, { code: 403, message: 'This change was not requested by the page.', remedy: 'Use the page.' });
    } else {
      void forward(api, request, response);
    }
  });
  const port = await listen(server, 0);
  // Browsers send cookies to every port of a host: the name keeps several proxies apart.
  cookie = `dropforge-${port}`;
  return {
    address: `http://${HOST}:${port}${OPEN_PATH}?token=${token}`,
    close: () => closeServer(server),
  };
}

/** The token of a request for the printed address; null for others. Any text can be sent as a path, such as `//`. */
function readToken({ url = '' }: IncomingMessage): string | null {
  const [path, query = ''] = url.split('?', 2);
  return path === OPEN_PATH ? new URLSearchParams(query).get('token') : null;
}

/**
 * Sends the cookie with a page that opens `/`. A redirect would belong to the navigation of whatever opened the address,
 * such as a file, and browsers send no SameSite=Strict cookie with navigations that began elsewhere.
 */
function openSession(response: ServerResponse, session: string): void {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'set-cookie': `${session}; HttpOnly; SameSite=Strict; Path=/`,
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
  });
  response.end('<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>Dropforge</title>');
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function hasCookie({ headers }: IncomingMessage, name: string, value: string): boolean {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.some(([key, given]) => key === name && given !== undefined && isEqual(given, value));
}

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

async function forward(
  { url, authorize }: Pick<Api, 'url' | 'authorize'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fail = (error: unknown) => {
    if (response.headersSent) {
      response.destroy();
    } else {
      const reason = error instanceof Error ? error.message : String(error);
      const remedy = 'Check your network and that the deployment exists; `dropforge jobs list` shows details.';
      reject(response, { code: 502, message: `The API of the deployment was not reached (${reason}).`, remedy });
    }
  };
  try {
    const target = new URL(url);
    // The path may begin with two slashes, which as a URL would name another host.
    const path = `${target.pathname.replace(/\/$/, '')}${request.url ?? '/'}`;
    const kept = FORWARDED_HEADERS.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const { hostname, port, protocol } = target;
    const send = protocol === 'https:' ? secureRequest : plainRequest;
    const headers = { ...Object.fromEntries(kept), ...(await authorize()) };
    const upstream = send({ hostname, port, path, method: request.method ?? 'GET', headers });
    upstream.on('response', (answer) => {
      const { 'set-cookie': _ofTheDeployment, ...answerHeaders } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, answerHeaders);
      answer.on('error', fail).pipe(response);
    });
    upstream.on('error', fail);
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  } catch (error) {
    fail(error);
  }
}

function reject(
  response: ServerResponse,
  error: { readonly code: number; readonly message: string; readonly remedy: string },
): void {
  response.writeHead(error.code, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
  response.end(JSON.stringify({ error }));
}
