import type { Context, Hono } from 'hono';
import { PAGE_ENCODINGS, PAGE_INDEX, type PageAsset, type PageAssets } from '#shared/ports/page-assets.ts';

/** Scripts and styles of this origin only, and no inline ones: markup in a name or log line can run nothing. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The addresses of the page's screens: each is answered with the index, whose script shows the screen. */
const SCREENS = ['/', '/drop', '/compare', '/jobs/:jobId', '/diagnosis/:label'];

/** The names of assets contain a hash of their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The page: its screens and its files. */
export function routePage(app: Hono, assets: PageAssets): void {
  for (const screen of SCREENS) {
    app.get(screen, async (context) => (await sendIndex(context, assets)) ?? context.notFound());
  }
  app.get('/assets/:name', async (context) => {
    const asset = await assets.find(`assets/${context.req.param('name')}`);
    return asset === undefined ? context.notFound() : send(context, asset, { 'cache-control': IMMUTABLE });
  });
}

/**
 * The page with status 404 if a browser opens an unknown address, which it says; undefined for paths of the API and of
 * files, and for other clients.
 */
export async function sendUnknownScreen(context: Context, assets: PageAssets): Promise<Response | undefined> {
  const { path, method } = context.req;
  const isPage = method === 'GET' && !/^\/(v1|assets)(\/|$)/.test(path);
  const accepted = context.req.header('accept') ?? '';
  const index = isPage && accepted.includes('text/html') ? await sendIndex(context, assets) : undefined;
  return index && new Response(index.body, { status: 404, headers: index.headers });
}

async function sendIndex(context: Context, assets: PageAssets): Promise<Response | undefined> {
  const index = await assets.find(PAGE_INDEX);
  const headers = { 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY };
  return index && send(context, index, headers);
}

function send(context: Context, asset: PageAsset, headers: Readonly<Record<string, string>>): Response {
  const accepted = (context.req.header('accept-encoding') ?? '').split(',').map((part) => part.trim().split(';')[0]);
  const encoding = PAGE_ENCODINGS.find((name) => accepted.includes(name)) ?? 'identity';
  const all = { ...headers, etag: asset.etag, vary: 'accept-encoding', 'content-type': asset.contentType };
  if (context.req.header('if-none-match') === asset.etag) {
    return new Response(null, { status: 304, headers: all });
  }
  const encoded = encoding === 'identity' ? all : { ...all, 'content-encoding': encoding };
  return new Response(new Uint8Array(asset.bytes[encoding]), { headers: encoded });
}
