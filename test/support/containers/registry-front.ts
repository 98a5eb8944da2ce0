import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** Blobs are layers and configurations; those of tests are shorter. */
const CONFIG_BYTES_MAX = 2_000;

export type RegistryFront = {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `GET PATH RANGE` of every request for a blob that was passed on. */
  readonly blobRequests: string[];
  /** Every Authorization header that arrived. */
  readonly authorizations: string[];
  faults: Faults;
  stop(): Promise<void>;
};

export type Faults = {
  /** A connection is cut after so many bytes of a blob, so often for each blob. */
  readonly cut?: { readonly afterBytes: number; readonly countMax: number };
  /** Answers requests for manifests and blobs with this status and error code. */
  readonly answer?: { readonly status: number; readonly code: string };
  /** Begins to answer a request for a blob, calls this, and never goes on. */
  readonly stall?: () => void;
  /** Awaited before a request for the blob with this path is answered. */
  readonly hold?: (path: string) => Promise<void>;
  /** Sends so many bytes more than a layer has. */
  readonly addsBytes?: number;
  /** The login that its token service accepts; without it, no token is needed. */
  readonly login?: string;
  /** Another address of the token service. */
  readonly realm?: string;
};

/** A registry with faults in front of a real one. */
export async function startRegistryFront(registryHost: string): Promise<RegistryFront> {
  const cuts = new Map<string, number>();
  const token = 'token-of-the-front';
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const front: RegistryFront = {
    host,
    blobRequests: [],
    authorizations: [],
    faults: {},
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '/', headers } = request;
    const { authorization = '' } = headers;
    if (authorization !== '') {
      front.authorizations.push(authorization);
    }
    const { login, realm = `http://${host}/token`, answer: error } = front.faults;
    if (path.startsWith('/token')) {
      const isKnown = authorization === `Basic ${Buffer.from(login ?? '').toString('base64')}`;
      return isKnown ? sendJson(response, 200, { token }) : sendError(response, 401, 'UNAUTHORIZED');
    }
    if (login !== undefined && authorization !== `Bearer ${token}`) {
      response.setHeader('www-authenticate', `Bearer realm="${realm}",service="front",scope="repository:x:pull"`);
      return sendError(response, 401, 'UNAUTHORIZED');
    }
    if (error !== undefined && path !== '/v2/') {
      return sendError(response, error.status, error.code);
    }
    await passOn(request, response, path);
  }

  async function passOn(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { accept = '*/*', range } = request.headers;
    const upstream = await fetch(`http://${registryHost}${path}`, {
      method: request.method ?? 'GET',
      headers: { accept, 'accept-encoding': 'identity', ...(range !== undefined && { range }) },
    });
    const body = Buffer.from(await upstream.arrayBuffer());
    const isBlob = path.includes('/blobs/') && request.method === 'GET';
    const { cut, stall } = front.faults;
    const addsBytes = body.length > CONFIG_BYTES_MAX ? (front.faults.addsBytes ?? 0) : 0;
    for (const name of ['content-type', 'docker-content-digest', 'content-range', 'accept-ranges', 'content-length']) {
      const value = upstream.headers.get(name);
      if (value !== null && !(name === 'content-length' && isBlob && addsBytes > 0)) {
        response.setHeader(name, value);
      }
    }
    response.writeHead(upstream.status);
    if (!isBlob) {
      response.end(request.method === 'HEAD' ? undefined : body);
      return;
    }
    front.blobRequests.push(`GET ${path} ${range ?? '-'}`);
    await front.faults.hold?.(path);
    if (stall !== undefined) {
      response.write(body.subarray(0, 1_000), () => stall());
    } else if (cut !== undefined && body.length > cut.afterBytes && (cuts.get(path) ?? 0) < cut.countMax) {
      cuts.set(path, (cuts.get(path) ?? 0) + 1);
      response.write(body.subarray(0, cut.afterBytes), () => setImmediate(() => response.destroy()));
    } else {
      response.write(body);
      response.end(Buffer.alloc(addsBytes));
    }
  }

  return front;
}

function sendError(response: ServerResponse, status: number, code: string): void {
  sendJson(response, status, { errors: [{ code, message: code.toLowerCase().replaceAll('_', ' ') }] });
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
