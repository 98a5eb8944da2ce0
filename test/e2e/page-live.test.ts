import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { awaitInPage, closePages, openBrowser, openPage } from '../support/browser/browser-under-test.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const SHOWN_MS_MAX = 3_000;
/** More tabs than a browser opens connections to one server. */
const TABS = 8;

/** Reports `loss` once the file that it was given exists, and runs on. */
const PROGRAM = `
import json, os, sys, time
def report(loss):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write(json.dumps({'step': 1, 'loss': loss}) + chr(10))
report(1)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
report(0.125)
print('reported', flush=True)
time.sleep(600)
`;

let cloud: CloudUnderTest;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-live-'));
  cloud = await startCloudUnderTest();
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser?.close();
  await cloud?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function open(path: string): Promise<Page> {
  const { page } = await openPage(browser);
  await page.goto(`${cloud.endpoints.api}${path}`);
  return page;
}

it('a metric is visible within 3 seconds, with the settings of `dropforge up`', async () => {
  const trigger = join(folder, 'go');
  await cloud.upload('live.tar.gz', await packProgram(PROGRAM, jobFile('live', { args: [trigger] })));
  const [list, log, curve] = [await open('/'), await open('/jobs/live?tab=log'), await open('/jobs/live')];
  await cloud.awaitJob('live', ({ replicas }) => replicas[0]?.metrics.loss === 1);
  await awaitInPage(curve, () => document.querySelector('[aria-label="loss"] .legend-line') !== null);
  const startedAt = performance.now();
  await writeFile(trigger, '');

  const shown = async (page: Page, condition: () => boolean) => {
    await awaitInPage(page, condition);
    return performance.now() - startedAt;
  };
  const [inList, inLog, inCurve] = await Promise.all([
    shown(list, () => document.body.innerText.includes('0.125')),
    shown(log, () => document.body.innerText.includes('reported')),
    shown(curve, () => document.body.innerText.includes('0.125')),
  ]);

  expect(Math.max(inList, inLog)).toBeLessThan(SHOWN_MS_MAX);
});

it(`${TABS} open tabs all show a change`, async () => {
  const tabs: Page[] = [];
  for (let count = 0; count < TABS; count += 1) {
    tabs.push(await open('/?text=later'));
  }
  await Promise.all(tabs.map((tab) => awaitInPage(tab, () => document.body.innerText.includes('No job matches'))));
  await cloud.upload('later.tar.gz', await packProgram('pass', jobFile('later', {})));
  await Promise.all(tabs.map((tab) => awaitInPage(tab, () => document.querySelector('.job-row') !== null)));
});
