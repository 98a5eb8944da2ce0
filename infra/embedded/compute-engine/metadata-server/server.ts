import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  findNode,
  type MetadataContent,
  type MetadataDirectory,
  type MetadataNode,
  renderJson,
  renderListing,
  renderText,
} from '#infra/embedded/compute-engine/metadata-server/tree.ts';

export type MetadataServer = {
  readonly port: number;
  /** Wakes those who wait for a change; those whose part of the tree is the same go on waiting. */
  notifyChange(): void;
  close(): Promise<void>;
};

export type MetadataServerOptions = {
  /** 0 for any that is free. */
  readonly port: number;
  readonly tree: () => MetadataDirectory;
  /** Writes, or with null deletes, `instance/guest-attributes/NAMESPACE/KEY`; answers with the HTTP status and why. */
  readonly writeGuestAttribute: (
    name: string,
    value: string | null,
  ) => { readonly status: number; readonly message: string };
};

const ROOT = '/computeMetadata/v1';
const GUEST_ATTRIBUTES = `${ROOT}/instance/guest-attributes/`;
const GUEST_ATTRIBUTE_BYTES_MAX = 262_144;

/** The longest wait for a change, also of those who name none. */
const WAIT_SECONDS_MAX = 86_400;
const CONNECTIONS_MAX = 256;

const CONTENT_TYPES = { text: 'application/text', json: 'application/json' } as const;

type Request = { readonly path: string; readonly query: URLSearchParams; readonly signal: AbortSignal };
type Answer = MetadataContent & { readonly headers?: Readonly<Record<string, string>> };

/**
 * The metadata server of one VM, on a port of 127.0.0.1: the rules of
 * cloud.google.com/compute/docs/metadata/querying-metadata (header, formats, listings, waiting for a change).
 */
export async function openMetadataServer(options: MetadataServerOptions): Promise<MetadataServer> {
  const changes = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => {
    serve({ ...options, changes }, request, response).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      response.writeHead(error instanceof URIError ? 400 : 500).end(`The metadata server failed: ${reason}\n`);
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    notifyChange: () => void changes.emit('change'),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Door = MetadataServerOptions & { readonly changes: EventEmitter };

async function serve(door: Door, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://metadata.google.internal');
  const refusal = refuseUnsafe(request, path);
  const { status, type, body, headers } =
    refusal ??
    (request.method === 'GET'
      ? await answerRead(door, { path, query, signal: closing.signal })
      : await answerWrite(door, request, path));
  response.writeHead(status, {
    'Content-Type': CONTENT_TYPES[type],
    'Metadata-Flavor': 'Google',
    Server: 'Metadata Server for VM',
    ...headers,
  });
  response.end(body);
}

/** A page that a browser or a careless proxy can be made to ask for must not give tokens away. */
function refuseUnsafe({ headers }: IncomingMessage, path: string): Answer | undefined {
  if (headers['x-forwarded-for'] !== undefined) {
    return say(403, 'Requests with an X-Forwarded-For header are refused.');
  }
  if (path.startsWith('/computeMetadata/') && headers['metadata-flavor']?.toString().toLowerCase() !== 'google') {
    return say(403, 'Missing Metadata-Flavor:Google header.');
  }
  return undefined;
}

async function answerRead(door: Door, request: Request): Promise<Answer> {
  if (request.path === '/') {
    return say(200, 'computeMetadata/');
  }
  if (request.path !== ROOT && !request.path.startsWith(`${ROOT}/`)) {
    return say(404, `There is no ${request.path} here. Begin with ${ROOT}/.`);
  }
  const isRecursive = request.query.get('recursive')?.toLowerCase() === 'true';
  const node = findNode(door.tree(), namesIn(request.path));
  if (node?.kind === 'DIRECTORY' && !request.path.endsWith('/') && !isRecursive) {
    const search = request.query.size === 0 ? '' : `?${request.query}`;
    return { ...say(301, 'A directory ends with a slash.'), headers: { Location: `${request.path}/${search}` } };
  }
  return request.query.get('wait_for_change')?.toLowerCase() === 'true' ? wait(door, request) : read(door, request);
}

async function read(door: Door, { path, query }: Request): Promise<Answer> {
  const names = namesIn(path);
  const node = findNode(door.tree(), names);
  if (node === undefined || (node.kind !== 'DIRECTORY' && path.endsWith('/'))) {
    return say(404, `There is no metadata at ${path}.`);
  }
  const content = await render(node, query);
  return { ...content, headers: { ETag: etagOf(content.body) } };
}

/**
 * Answers when the value is another than `last_etag`, or than the present one; after `timeout_sec` with what there is.
 * A VM that reads, acts and waits again with the ETag misses no change.
 */
async function wait(door: Door, request: Request): Promise<Answer> {
  const seconds = Number(request.query.get('timeout_sec') ?? WAIT_SECONDS_MAX);
  if (!Number.isInteger(seconds) || seconds < 0) {
    return say(400, 'timeout_sec must be a whole number of seconds, 0 or more.');
  }
  const timeout = AbortSignal.timeout(Math.min(seconds, WAIT_SECONDS_MAX) * 1_000);
  const signal = AbortSignal.any([timeout, request.signal]);
  let answer = await read(door, request);
  const lastEtag = request.query.get('last_etag') ?? answer.headers?.ETag;
  while (answer.status === 200 && answer.headers?.ETag === lastEtag && (await isChanged(door.changes, signal))) {
    answer = await read(door, request);
  }
  return answer;
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

/** Values are text unless JSON is asked for; a recursive listing is JSON unless text is. */
async function render(node: MetadataNode, query: URLSearchParams): Promise<MetadataContent> {
  if (node.kind === 'ACTION') {
    return node.answer(query);
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

async function answerWrite(door: Door, request: IncomingMessage, path: string): Promise<Answer> {
  const isWrite = request.method === 'PUT' || request.method === 'DELETE';
  if (!isWrite || !path.startsWith(GUEST_ATTRIBUTES)) {
    return say(405, `${request.method} is not allowed here: only guest attributes can be written.`);
  }
  const sizeBytes = Number(request.headers['content-length'] ?? (request.method === 'DELETE' ? 0 : Number.NaN));
  if (Number.isNaN(sizeBytes)) {
    return say(411, 'Say the length of the value with a Content-Length header.');
  }
  if (sizeBytes > GUEST_ATTRIBUTE_BYTES_MAX) {
    return say(413, `A guest attribute holds at most ${GUEST_ATTRIBUTE_BYTES_MAX} bytes.`);
  }
  const value = request.method === 'PUT' ? await text(request) : null;
  const { status, message } = door.writeGuestAttribute(decodeURIComponent(path.slice(GUEST_ATTRIBUTES.length)), value);
  if (status === 200) {
    door.changes.emit('change');
  }
  return say(status, message);
}

function namesIn(path: string): string[] {
  return path
    .slice(ROOT.length)
    .split('/')
    .filter((name) => name !== '')
    .map(decodeURIComponent);
}

function say(status: number, message: string): Answer {
  return { status, type: 'text', body: message === '' ? '' : `${message}\n` };
}

function etagOf(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}
