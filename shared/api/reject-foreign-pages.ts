import type { Context, Hono } from 'hono';
import { errorResponse } from '#shared/api/request.ts';

/** Set by the page itself on every request. A page of another origin needs permission (CORS) for it, and gets none. */
const PAGE_HEADER = 'x-dropforge-page';

/**
 * Rejects requests of other web pages that would change something. A browser adds the identity of its user to them: the
 * cookie of IAP or of the local proxy. Programs send neither Origin nor Sec-Fetch-Site, and need no header.
 */
export function rejectForeignPages(app: Hono): void {
  app.use(async (context, next) => {
    const isReading = ['GET', 'HEAD', 'OPTIONS'].includes(context.req.method);
    if (!isReading && isFromBrowser(context) && !isFromOwnPage(context)) {
      const message = 'The API accepts changes from its own page only, and this request came from another one.';
      throw errorResponse(403, message, 'Use the page of this deployment, or the command line.');
    }
    await next();
  });
}

function isFromBrowser({ req }: Context): boolean {
  return req.header('origin') !== undefined || req.header('sec-fetch-site') !== undefined;
}

function isFromOwnPage({ req }: Context): boolean {
  const site = req.header('sec-fetch-site') ?? 'same-origin';
  const origin = req.header('origin');
  const isSameHost = origin === undefined || hostOf(origin) === req.header('host');
  return site === 'same-origin' && isSameHost && req.header(PAGE_HEADER) !== undefined;
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
}
