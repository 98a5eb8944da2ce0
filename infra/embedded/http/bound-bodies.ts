import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/** Cloud Run's limit on the body of a request (docs, "Quotas and limits"), which deployed functions have. */
export const BODY_BYTES_MAX = 32 * 2 ** 20;

/**
 * Bounds the bodies of requests before they are read, and leaves their parsing to the function: the functions-framework
 * reads up to 1 GiB into memory and parses JSON before the function has seen a token, and answers invalid JSON with a
 * page that has a stack trace.
 */
export function boundBodies(server: Server, { bytesMax, isEvent }: { bytesMax: number; isEvent: boolean }): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const length = request.headers['content-length'];
    const isChunked = request.headers['transfer-encoding'] !== undefined;
    if (isChunked && length === undefined) {
      reject(request, response, [411, 'Send the length of the body in the header Content-Length.']);
    } else if (Number(length ?? 0) > bytesMax) {
      reject(request, response, [413, `The body has ${length} bytes; the maximum is ${bytesMax}.`]);
    } else {
      if (!isEvent && request.headers['content-type'] !== undefined) {
        request.headers['content-type'] = 'application/octet-stream';
      }
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
