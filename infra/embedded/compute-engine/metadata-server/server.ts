import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  findNode,
  type MetadataContent,
  type MetadataDirectory,
  type MetadataNode,
  renderJson,
  renderListing,
  renderText,
} from '#infra/embedded/compute-engine/metadata-server/tree.ts';
import { hostNameOf, isMetadataHost } from '#infra/embedded/vm-proxy/google-hosts.ts';
import type { VmProxy } from '#infra/embedded/vm-proxy/proxy.ts';

export type MetadataServer = {
  readonly port: number;
  /** Wakes requests that wait for a change; those whose value is unchanged keep waiting. */
  notifyChange(): void;
  close(): Promise<void>;
};

export type MetadataServerOptions = {
  /** 0 selects any free port. */
  readonly port: number;
  readonly tree: () => MetadataDirectory;
  /** The VM's proxy, on the same port: its requests have an absolute URL or the method CONNECT. */
  readonly proxy?: VmProxy;
};

const ROOT = '/computeMetadata/v1';

/** The longest wait for a change; also the default. */
const WAIT_SECONDS_MAX = 86_400;
/** The limit of connections of the VM's programs, for metadata and through the proxy. */
const CONNECTIONS_MAX = 2_048;

const CONTENT_TYPES = { text: 'application/text', json: 'application/json' } as const;

type Request = { readonly path: string; readonly query: URLSearchParams; readonly signal: AbortSignal };
type MetadataResponse = MetadataContent & { readonly headers?: Readonly<Record<string, string>> };

/**
 * The metadata server of one VM, on a port of 127.0.0.1. Header, formats, listings and waiting for changes follow
 * cloud.google.com/compute/docs/metadata/querying-metadata.
 */
export async function openMetadataServer(options: MetadataServerOptions): Promise<MetadataServer> {
  const changes = new EventEmitter().setMaxListeners(0);
  const onMetadataRequest: RequestListener = (request, response) => {
    serve({ ...options, changes }, request, response).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      response.writeHead(error instanceof URIError ? 400 : 500).end(`The metadata server failed: ${reason}\n`);
    });
  };
  const server = createServer();
  if (options.proxy === undefined) {
    server.on('request', onMetadataRequest);
  } else {
    options.proxy.attach(server, onMetadataRequest);
  }
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    notifyChange: () => void changes.emit('change'),
    async close() {
      const closed = once(server, 'close');
      server.close();
      options.proxy?.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type ServerContext = MetadataServerOptions & { readonly changes: EventEmitter };

async function serve(context: ServerContext, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://metadata.google.internal');
  const rejection = rejectUnsafe(request, path);
  const { status, type, body, headers } =
    rejection ??
    (request.method === 'GET'
      ? await handleRead(context, { path, query, signal: closing.signal })
      : textResponse(405, `${request.method} is not allowed here: metadata cannot be written.`));
  response.writeHead(status, {
    'Content-Type': CONTENT_TYPES[type],
    'Metadata-Flavor': 'Google',
    Server: 'Metadata Server for VM',
    ...headers,
  });
  response.end(body);
}

/** Rejects requests that a browser or an open proxy can be tricked into sending: they must not obtain tokens. */
function rejectUnsafe({ headers }: IncomingMessage, path: string): MetadataResponse | undefined {
  if (headers['x-forwarded-for'] !== undefined) {
    return textResponse(403, 'Requests with an X-Forwarded-For header are rejected.');
  }
  if (headers.origin !== undefined || !isOwnHost(headers.host ?? '')) {
    return textResponse(403, 'Requests from web pages are rejected.');
  }
  if (path.startsWith('/computeMetadata/') && headers['metadata-flavor']?.toString().toLowerCase() !== 'google') {
    return textResponse(403, 'Missing Metadata-Flavor:Google header.');
  }
  return undefined;
}

/** A page with a name of its own, which DNS rebinding has pointed at this machine, sends that name. */
function isOwnHost(authority: string): boolean {
  const host = hostNameOf(authority);
  return isMetadataHost(host) || ['127.0.0.1', 'localhost', '::1'].includes(host);
}

async function handleRead(context: ServerContext, request: Request): Promise<MetadataResponse> {
  if (request.path === '/') {
    return textResponse(200, 'computeMetadata/');
  }
  if (request.path !== ROOT && !request.path.startsWith(`${ROOT}/`)) {
    return textResponse(404, `${request.path} not found. Paths start with ${ROOT}/.`);
  }
  const isRecursive = request.query.get('recursive')?.toLowerCase() === 'true';
  const node = findNode(context.tree(), namesIn(request.path));
  if (node?.kind === 'DIRECTORY' && !request.path.endsWith('/') && !isRecursive) {
    const search = request.query.size === 0 ? '' : `?${request.query}`;
    return {
      ...textResponse(301, 'A directory ends with a slash.'),
      headers: { Location: `${request.path}/${search}` },
    };
  }
  return request.query.get('wait_for_change')?.toLowerCase() === 'true'
    ? waitForChange(context, request)
    : read(context, request);
}

async function read(context: ServerContext, { path, query }: Request): Promise<MetadataResponse> {
  const names = namesIn(path);
  const node = findNode(context.tree(), names);
  if (node === undefined || (node.kind !== 'DIRECTORY' && path.endsWith('/'))) {
    return textResponse(404, `No metadata at ${path}.`);
  }
  const content = await render(node, query);
  return { ...content, headers: { ETag: etagOf(content.body) } };
}

/**
 * Responds when the value differs from `last_etag` (or from the current value), or after `timeout_sec` with the current
 * value. A VM that reads, acts and waits again with the ETag misses no change.
 */
async function waitForChange(context: ServerContext, request: Request): Promise<MetadataResponse> {
  const seconds = Number(request.query.get('timeout_sec') ?? WAIT_SECONDS_MAX);
  if (!Number.isInteger(seconds) || seconds < 0) {
    return textResponse(400, 'timeout_sec must be a whole number of seconds, 0 or more.');
  }
  const timeout = AbortSignal.timeout(Math.min(seconds, WAIT_SECONDS_MAX) * 1_000);
  const signal = AbortSignal.any([timeout, request.signal]);
  let response = await read(context, request);
  const lastEtag = request.query.get('last_etag') ?? response.headers?.ETag;
  while (response.status === 200 && response.headers?.ETag === lastEtag && (await isChanged(context.changes, signal))) {
    response = await read(context, request);
  }
  return response;
}

async function isChanged(changes: EventEmitter, signal: AbortSignal): Promise<boolean> {
  try {
    await once(changes, 'change', { signal });
    return true;
  } catch (error) {
    if (signal.aborted) {
      return false;
    }
    throw error;
  }
}

/** Values are text by default, recursive listings JSON; `alt` overrides both. */
async function render(node: MetadataNode, query: URLSearchParams): Promise<MetadataContent> {
  if (node.kind === 'ACTION') {
    return node.respond(query);
  }
  const isRecursive = query.get('recursive')?.toLowerCase() === 'true';
  const isJson = (query.get('alt') ?? (isRecursive ? 'json' : 'text')) === 'json';
  if (node.kind === 'DIRECTORY' && !isRecursive) {
    const names = [...node.entries].map(([name, child]) => (child.kind === 'DIRECTORY' ? `${name}/` : name));
    return isJson
      ? { status: 200, type: 'json', body: JSON.stringify(names) }
      : { status: 200, type: 'text', body: renderListing(node) };
  }
  return isJson
    ? { status: 200, type: 'json', body: renderJson(node) }
    : { status: 200, type: 'text', body: renderText(node) };
}

function namesIn(path: string): string[] {
  return path
    .slice(ROOT.length)
    .split('/')
    .filter((name) => name !== '')
    .map(decodeURIComponent);
}

function textResponse(status: number, message: string): MetadataResponse {
  return { status, type: 'text', body: message === '' ? '' : `${message}\n` };
}

function etagOf(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}
