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
const SCREENS = ['/', '/drop', '/compare', '/jobs/:jobId'];

/** The names of assets contain a hash of their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The page: its screens and its files. */
export function routePage(app: Hono, assets: PageAssets): void {
  const serveIndex = async (context: Context) => {
    const index = await assets.find(PAGE_INDEX);
    return index === undefined
      ? context.notFound()
      : send(context, index, { 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY });
  };
  for (const screen of SCREENS) {
    app.get(screen, serveIndex);
  }
  app.get('/assets/:name', async (context) => {
    const asset = await assets.find(`assets/${context.req.param('name')}`);
    return asset === undefined ? context.notFound() : send(context, asset, { 'cache-control': IMMUTABLE });
  });
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
