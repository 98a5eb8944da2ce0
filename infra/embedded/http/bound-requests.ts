import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/** Cloud Run's limit on the body of a request (docs, "Quotas and limits"), which deployed functions have. */
export const BODY_BYTES_MAX = 32 * 2 ** 20;

/** Requests that are handled at once; a burst of more waits longer in the event loop than its senders do. */
const REQUESTS_MAX = 256;
const RETRY_AFTER_SECONDS = 5;

type Bounds = { readonly bytesMax: number; readonly isEvent: boolean; readonly requestsMax?: number };

/**
 * Bounds the number of requests that are handled at once, and their bodies before they are read, and leaves parsing to
 * the function: the functions-framework reads up to 1 GiB into memory and parses JSON before the function has seen a
 * token, and answers invalid JSON with a page that has a stack trace.
 */
export function boundRequests(server: Server, { bytesMax, isEvent, requestsMax = REQUESTS_MAX }: Bounds): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  let running = 0;
  server.on('request', (request, response) => {
    // Its sender has timed out while it waited here: handling it would delay those that are awaited.
    if (request.socket.destroyed) {
      return;
    }
    const length = request.headers['content-length'];
    const isChunked = request.headers['transfer-encoding'] !== undefined;
    if (running >= requestsMax) {
      response.setHeader('retry-after', RETRY_AFTER_SECONDS);
      reject(request, response, [503, `More than ${requestsMax} requests are being handled. Repeat this one later.`]);
    } else if (isChunked && length === undefined) {
      reject(request, response, [411, 'Send the length of the body in the header Content-Length.']);
    } else if (Number(length ?? 0) > bytesMax) {
      reject(request, response, [413, `The body has ${length} bytes; the maximum is ${bytesMax}.`]);
    } else {
      if (!isEvent && request.headers['content-type'] !== undefined) {
        request.headers['content-type'] = 'application/octet-stream';
      }
      running += 1;
      response.once('close', () => {
        running -= 1;
      });
      for (const listener of listeners) {
        listener.call(server, request, response);
      }
    }
  });
}

function reject(request: IncomingMessage, response: ServerResponse, [code, message]: [number, string]): void {
  response.writeHead(code, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ error: { code, message } }), () => request.destroy());
}
