import type { ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';

/** The retries of a deployment without its delays. */
export const SHORT_RETRIES = { retryDelayMultiplier: 0.001 };

/** A fault as a client sees it, by the instructions that Google's storage testbench has for them. */
export type Fault =
  /** The request is answered with this status, and not performed. */
  | { readonly kind: 'STATUS'; readonly status: number }
  /** The connection is reset before the request is performed. */
  | { readonly kind: 'RESET' }
  /** The request is performed; the connection breaks after this many bytes of the answer's body. */
  | { readonly kind: 'BROKEN'; readonly afterBytes: number }
  /** The request is answered with 200 and no bytes. */
  | { readonly kind: 'EMPTY' }
  /** The connection stays open without an answer. */
  | { readonly kind: 'STALL' }
  /** The first bytes of a chunk of a resumable upload are received, then it is answered with 503. */
  | { readonly kind: 'PARTIAL'; readonly afterBytes: number };

export type Operation = 'buckets' | 'list' | 'stat' | 'media' | 'insert' | 'start' | 'chunk' | 'delete' | 'copy';

/**
 * The connection has been broken, so nothing may follow. The library's own mark of a response that was sent is written
 * like any other once the process has replaced its global `Response`, as other tests do.
 */
const NO_RESPONSE = new Promise<Response>(() => {});

type App = { fetch(request: Request): Response | Promise<Response> };

export type StorageFaults = ReturnType<typeof createStorageFaults>;

/** A Cloud Storage server in which requests fail: each injected fault is shown by the next `count` such requests. */
export function createStorageFaults(app: App) {
  const injected: { operation: Operation; fault: Fault; left: number; isSeen: boolean }[] = [];
  const operations: Operation[] = [];

  const listener = getRequestListener(async (request, { incoming, outgoing }) => {
    const operation = operationOf(request);
    operations.push(operation);
    const next = injected.find((one) => one.operation === operation && one.left > 0);
    if (next === undefined) {
      return app.fetch(request);
    }
    next.left -= 1;
    next.isSeen = true;
    const { fault } = next;
    switch (fault.kind) {
      case 'STATUS':
        await request.arrayBuffer();
        return rejection(fault.status, 'backendError', `Injected: ${fault.status}.`);
      case 'EMPTY':
        return new Response('');
      case 'STALL':
        return NO_RESPONSE;
      case 'RESET':
        if ('resetAndDestroy' in incoming.socket) {
          incoming.socket.resetAndDestroy();
        }
        return NO_RESPONSE;
      case 'PARTIAL':
        await app.fetch(await firstBytesOf(request, fault.afterBytes));
        return rejection(503, 'backendError', 'Injected: 503.');
      case 'BROKEN': {
        const response = await app.fetch(request);
        const body = Buffer.from(await response.arrayBuffer());
        // Types allow HTTP/2, which this server does not speak.
        const sent = outgoing as ServerResponse;
        if (body.length === 0) {
          sent.destroy();
        } else {
          sent.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': body.length });
          sent.write(body.subarray(0, fault.afterBytes), () => void sent.destroy());
        }
        return NO_RESPONSE;
      }
    }
  });

  return {
    listener,
    /** Every request so far, the oldest first. */
    operations,
    inject(operation: Operation, fault: Fault, count = 1): void {
      injected.push({ operation, fault, left: count, isSeen: false });
    },
    clear: () => void injected.splice(0),
    /** The faults that no request has shown. */
    unseen: () => injected.filter(({ isSeen }) => !isSeen).map(({ operation }) => operation),
  };
}

function operationOf({ method, url }: Request): Operation {
  const { pathname, searchParams } = new URL(url);
  if (pathname.startsWith('/upload/')) {
    const isStart = searchParams.get('uploadType') === 'resumable' && !searchParams.has('upload_id');
    return searchParams.has('upload_id') ? 'chunk' : isStart ? 'start' : 'insert';
  }
  if (method !== 'GET') {
    return method === 'DELETE' ? 'delete' : 'copy';
  }
  if (searchParams.get('alt') === 'media') {
    return 'media';
  }
  return pathname.endsWith('/b') ? 'buckets' : pathname.endsWith('/o') ? 'list' : 'stat';
}

/** The same chunk without its end, of an upload whose size is not known. */
async function firstBytesOf(request: Request, sizeBytes: number): Promise<Request> {
  const body = Buffer.from(await request.arrayBuffer()).subarray(0, sizeBytes);
  const [, start = '0'] = /^bytes (\d+)-/.exec(request.headers.get('content-range') ?? '') ?? [];
  const headers = new Headers(request.headers);
  headers.delete('content-length');
  headers.delete('x-goog-hash');
  headers.set('content-range', `bytes ${start}-${Number(start) + body.length - 1}/*`);
  return new Request(request.url, { method: request.method, headers, body });
}

/** An error response of Cloud Storage (docs, "HTTP status and error codes for JSON"). */
export function rejection(status: number, reason: string, message: string): Response {
  return Response.json(
    { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } },
    { status },
  );
}
