import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';

/**
 * An HTTP server for the clients of Google's APIs, some of which send what Node.js rejects and read what Node.js does
 * not write. It is never bound to a port: its connections are those that the proxy hands to it.
 */
export function createApiServer(listener: RequestListener): Server {
  const server = createServer(
    { insecureHTTPParser: true, ServerResponse: CapitalizedResponse },
    (request, response) => {
      normalizeFraming(request, response);
      listener(request, response);
    },
  );
  // Node's defaults would abort an upload after five minutes, and end a connection that is idle for five seconds.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 120_000;
  return server;
}

/**
 * TensorFlow sends Transfer-Encoding beside a Content-Length. A chunked body has precedence (RFC 9112, section 6.3).
 * `identity` is sent only with an empty body, but a parser would take all that follows as the body.
 */
function normalizeFraming(request: IncomingMessage & { rawBody?: Buffer }, response: ServerResponse): void {
  const coding = request.headers['transfer-encoding']?.toLowerCase();
  if (coding === undefined) {
    return;
  }
  delete request.headers['content-length'];
  if (coding === 'identity') {
    delete request.headers['transfer-encoding'];
    request.rawBody = Buffer.alloc(0);
    response.shouldKeepAlive = false;
  }
}

/** Writes header names as Google does: TensorFlow looks for `Location` and `Range` in just these letters. */
class CapitalizedResponse extends ServerResponse {
  override setHeader(name: string, value: number | string | readonly string[]): this {
    return super.setHeader(capitalize(name), value);
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const headers = rest.at(-1);
    const capitalized =
      typeof headers === 'object' && headers !== null && !Array.isArray(headers)
        ? [
            ...rest.slice(0, -1),
            Object.fromEntries(Object.entries(headers).map(([name, value]) => [capitalize(name), value])),
          ]
        : rest;
    return super.writeHead(status, ...(capitalized as []));
  }
}

const capitalize = (name: string): string => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
