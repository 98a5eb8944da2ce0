import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Browser, ElementHandle } from 'puppeteer-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PageProxy, startPageProxy } from '../../cli/client/page-proxy.ts';
import { closeServer, listen } from '../../infra/embedded/http/server.ts';
import { awaitInPage, openBrowser, openPage } from '../support/browser/browser-under-test.ts';
import {
  type CloudUnderTest,
  jobFile,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';

const IDENTITY = 'Bearer identity';
const PROGRAM = `
import os, time
os.makedirs(os.environ['DROPFORGE_OUTPUT_DIR'], exist_ok=True)
open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'kept.txt'), 'w').write('kept')
time.sleep(600)
`;

let cloud: CloudUnderTest;
let gate: Server;
let proxy: PageProxy;
let browser: Browser;
let folder: string;

/** Stands for Cloud Run before the function: requests need an identity token. */
function createGate(api: string): Server {
  return createServer(async (request, response) => {
    const { url = '/', method = 'GET', headers } = request;
    if (headers.authorization !== IDENTITY) {
      response.writeHead(403).end();
      return;
    }
    const body = method === 'GET' ? null : await buffer(request);
    const kept = ['accept', 'content-type', 'if-none-match', 'x-dropforge-page'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
    );
    const answer = await fetch(`${api}${url}`, { method, body, headers: kept });
    const sent = [...answer.headers].filter(([name]) => !/^(content-(encoding|length)|transfer-encoding)$/.test(name));
    response.writeHead(answer.status, Object.fromEntries(sent)).end(Buffer.from(await answer.arrayBuffer()));
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-deployment-'));
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 300, syncMs: 1_000 } });
  gate = createGate(cloud.endpoints.api);
  const url = `http://127.0.0.1:${await listen(gate, 0)}`;
  expect((await fetch(url)).status).toBe(403);
  proxy = await startPageProxy({ url, authorize: async () => ({ authorization: IDENTITY }) });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy?.close();
  await closeServer(gate);
  await cloud?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('a job is uploaded, followed by polling, downloaded from and cancelled through the local proxy', async () => {
  const { page, problems, text } = await openPage(browser);
  const press = (name: string) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
  await page.goto(proxy.address);
  await awaitInPage(page, () => document.body.innerText.includes('Nothing is running.'));
  const { origin } = new URL(proxy.address);
  const archive = join(folder, 'remote.tar.gz');
  await writeFile(archive, await packProgram(PROGRAM, jobFile('remote', {})));

  await page.goto(`${origin}/drop`);
  const input = await page.waitForSelector('::-p-xpath(//label[contains(., "Choose an archive")]//input)');
  await (input as ElementHandle<HTMLInputElement>).uploadFile(archive);
  await awaitInPage(page, () => document.body.innerText.includes('Ready to start'));
  await press('Start');
  await awaitInPage(page, () => location.pathname === '/jobs/remote');
  await awaitInPage(page, () => document.body.innerText.includes('Running'));
  expect(await text()).toContain('Live');

  const kept = await until('the file', async () => {
    await page.goto(`${origin}/jobs/remote?tab=files`);
    const link = await page.waitForSelector('a[download="kept.txt"]', { timeout: 2_000 }).catch(() => null);
    return link?.evaluate(async (one) => (await fetch((one as HTMLAnchorElement).href)).text());
  });
  expect(kept).toBe('kept');

  await press('Cancel…');
  await press('Cancel the job');
  await cloud.awaitJob('remote', ({ state }) => state === 'CANCELLED');
  await awaitInPage(page, () => document.body.innerText.includes('Cancelled'));
  expect(problems).toEqual([]);
});
