import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeAddressFile } from '../../cli/client/address-file.ts';
import { type PageProxy, startPageProxy } from '../../cli/client/page-proxy.ts';
import { closeServer, listen } from '../../infra/embedded/http/server.ts';
import { openBrowser } from '../support/browser/browser-under-test.ts';

let upstream: Server;
let proxy: PageProxy;
let browser: Browser;

beforeAll(async () => {
  upstream = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>Jobs</h1>'));
  const port = await listen(upstream, 0);
  proxy = await startPageProxy({ url: `http://127.0.0.1:${port}`, authorize: async () => ({}) });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await proxy.close();
  await closeServer(upstream);
});

it('is opened by a private file, so that its token is no argument of a process', async () => {
  const file = await writeAddressFile(proxy.address);
  const modes = await Promise.all([dirname(file.path), file.path].map(async (path) => (await stat(path)).mode & 0o077));
  const page = await browser.newPage();

  await page.goto(pathToFileURL(file.path).href);
  await page.waitForSelector('h1');

  expect(modes).toEqual([0, 0]);
  expect(page.url()).toBe(`${new URL(proxy.address).origin}/`);
  await file.remove();
  await expect(stat(dirname(file.path))).rejects.toThrow('ENOENT');
});
