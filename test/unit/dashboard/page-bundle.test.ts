import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Hono } from 'hono';
import { beforeAll, expect, it } from 'vitest';
import { buildPage } from '#infra/page/build-page.ts';
import { archivePage, openArchivedPage } from '#infra/page/page-files.ts';
import { routePage } from '#shared/api/page-routes.ts';
import type { PageAsset } from '#shared/ports/page-assets.ts';

const FIRST_LOAD_BYTES_MAX = 150 * 1_024;

let page: ReadonlyMap<string, PageAsset>;
beforeAll(async () => {
  page = await buildPage();
});

const app = () => {
  const hono = new Hono();
  routePage(hono, { find: async (path) => page.get(path) });
  return hono;
};
const index = () => Buffer.from(page.get('index.html')?.bytes.identity ?? []).toString();
const linked = () => [...index().matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, path]) => path ?? '');

it(`loads less than ${FIRST_LOAD_BYTES_MAX} bytes first, compressed either way`, () => {
  expect(linked().length).toBeGreaterThanOrEqual(4);
  const sizeOf = (encoding: 'br' | 'gzip') =>
    ['index.html', ...linked()].reduce((sum, path) => sum + (page.get(path)?.bytes[encoding].length ?? Infinity), 0);
  expect(sizeOf('br')).toBeLessThan(FIRST_LOAD_BYTES_MAX);
  expect(sizeOf('gzip')).toBeLessThan(FIRST_LOAD_BYTES_MAX);
});

it('has neither inline scripts and styles nor addresses of other hosts, and no schema library', () => {
  expect(index()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
  const scripts = [...page]
    .filter(([path]) => path.endsWith('.js'))
    .map(([, { bytes }]) => Buffer.from(bytes.identity));
  expect(scripts.some((script) => script.includes('ZodError'))).toBe(false);
});

it('serves every screen with the policy, and files with a hash in their name as immutable', async () => {
  for (const path of ['/', '/jobs/digits', '/compare?jobs=a,b', '/drop', '/diagnosis/gpu_oom']) {
    const response = await app().request(path);
    expect([response.status, response.headers.get('cache-control')], path).toEqual([200, 'no-cache']);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  }
  const asset = await app().request(`/${linked().at(-1)}`, { headers: { 'accept-encoding': 'gzip, br' } });
  expect([asset.headers.get('content-encoding'), asset.headers.get('cache-control')]).toEqual([
    'br',
    'public, max-age=31536000, immutable',
  ]);
  const etag = asset.headers.get('etag') ?? '';
  expect((await app().request(`/${linked().at(-1)}`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await app().request('/assets/absent.js')).status).toBe(404);
});

it('is the same from the files of a function’s archive, which serve nothing else', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-page-'));
  for (const [path, bytes] of Object.entries(archivePage('page', page))) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), bytes);
  }
  await writeFile(join(directory, 'secret.br'), 'x');
  const archived = openArchivedPage(join(directory, 'page'));
  for (const [path, asset] of page) {
    const found = await archived.find(path);
    expect([found?.etag, found?.contentType], path).toEqual([asset.etag, asset.contentType]);
    expect(Buffer.from(found?.bytes.identity ?? [])).toEqual(Buffer.from(asset.bytes.identity));
  }
  expect(await archived.find('../secret')).toBeUndefined();
  await rm(directory, { recursive: true });
});
