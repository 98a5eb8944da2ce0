import { createHash } from 'node:crypto';
import type { Hono } from 'hono';

/** For every answer but the page itself: what a job wrote is shown as text or saved, and never run. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/**
 * Adds to every answer what keeps browsers from running or leaking it, and to JSON an ETag: a client that has the same
 * already, as a page that polls, is answered 304.
 */
export function addResponseHeaders(app: Hono): void {
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    headers.set('x-content-type-options', 'nosniff');
    headers.set('referrer-policy', 'no-referrer');
    headers.set('cross-origin-opener-policy', 'same-origin');
    headers.set('cross-origin-resource-policy', 'same-origin');
    if (!headers.has('content-security-policy')) {
      headers.set('content-security-policy', DATA_POLICY);
    }
  });
  app.use('/v1/*', async (context, next) => {
    await next();
    const { res } = context;
    const isJson = res.headers.get('content-type')?.startsWith('application/json') === true;
    if (context.req.method !== 'GET' || res.status !== 200 || !isJson) {
      return;
    }
    const body = res.headers.has('etag') ? undefined : await res.arrayBuffer();
    const etag = res.headers.get('etag') ?? `"${hash(body)}"`;
    const headers = new Headers(res.headers);
    headers.set('etag', etag);
    headers.set('cache-control', headers.get('cache-control') ?? 'private, no-cache');
    const isUnchanged = context.req.header('if-none-match') === etag;
    // Hono adds the headers of the previous response to the next one, so it is removed first.
    context.res = undefined;
    context.res = isUnchanged
      ? new Response(null, { status: 304, headers })
      : new Response(body ?? res.body, { status: 200, headers });
  });
}

function hash(body: ArrayBuffer | undefined): string {
  return createHash('sha256')
    .update(new Uint8Array(body ?? new ArrayBuffer(0)))
    .digest('base64url')
    .slice(0, 22);
}
