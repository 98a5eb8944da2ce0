import type { Server } from 'node:http';
import { interceptRequests, reject } from '#infra/embedded/http/server.ts';

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
  let running = 0;
  interceptRequests(server, (request, response) => {
    // Its sender has timed out while it waited here: handling it would delay those that are awaited.
    if (request.socket.destroyed) {
      return true;
    }
    const refuse = (code: number, message: string): true => {
      response.setHeader('connection', 'close').once('finish', () => request.destroy());
      reject(response, code, message);
      return true;
    };
    if (running >= requestsMax) {
      response.setHeader('retry-after', RETRY_AFTER_SECONDS);
      return refuse(503, `More than ${requestsMax} requests are being handled. Repeat this one later.`);
    }
    const length = request.headers['content-length'];
    if (length === undefined && request.headers['transfer-encoding'] !== undefined) {
      return refuse(411, 'Send the length of the body in the header Content-Length.');
    }
    if (Number(length ?? 0) > bytesMax) {
      return refuse(413, `The body has ${length} bytes; the maximum is ${bytesMax}.`);
    }
    if (!isEvent && request.headers['content-type'] !== undefined) {
      request.headers['content-type'] = 'application/octet-stream';
    }
    running += 1;
    response.once('close', () => {
      running -= 1;
    });
    return false;
  });
}
