import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { getRequestListener } from '@hono/node-server';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeServer, listen } from '../../infra/embedded/http/server.ts';
import { awaitInPage, closePages, openBrowser, openPage, PHONE } from '../support/browser/browser-under-test.ts';
import { foreignJob, keptJob, pullingJob, refusedJobs } from '../support/page/example-containers.ts';
import { inputBoundProfile, recordedProfile } from '../support/page/example-profiles.ts';
import { exampleFront, examplePopulation, exampleSearch } from '../support/page/example-tunings.ts';
import { interruptedJob } from '../support/page/example-views.ts';
import { createFixtureApi, type FixtureJob } from '../support/page/fixture-api.ts';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const START = Date.now() - 30 * 60_000;

const running = interruptedJob('running', START);
const JOBS: ReadonlyMap<string, FixtureJob> = new Map([
  ['running', { ...running, profiles: [inputBoundProfile('running', 'attempt-1-master-0-1')] }],
  [
    'profiled',
    { ...interruptedJob('profiled', START), recording: recordedProfile('profiled', 'attempt-2-master-0-1') },
  ],
  ['search', exampleSearch('search', START)],
  ['front', exampleFront('front', START)],
  ['population', examplePopulation('population', START)],
  ['pulling', pullingJob('pulling', START)],
  ['kept', keptJob('kept', Date.now())],
  ['kept_by_ada', foreignJob(keptJob('kept_by_ada', Date.now()))],
  ['of_ada', foreignJob(interruptedJob('of_ada', START))],
  ...refusedJobs(START),
]);

const SCREENS = [
  '/jobs/running?tab=profile&profile=attempt-1-master-0-1',
  '/jobs/search',
  '/jobs/front',
  '/jobs/population',
  '/jobs/pulling?tab=definition',
  '/jobs/kept',
  '/jobs/of_ada?tab=definition',
  '/jobs/perimeter_denied?tab=definition',
  '/jobs/image_pull_failed?tab=definition',
];

let server: Server;
let origin: string;
let browser: Browser;

beforeAll(async () => {
  server = createServer(getRequestListener(createFixtureApi(JOBS).fetch));
  origin = `http://127.0.0.1:${await listen(server, 0)}`;
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser?.close();
  await closeServer(server);
});

async function open(path: string, options: Parameters<typeof openPage>[1] = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto(`${origin}${path}`);
  await awaitInPage(
    opened.page,
    () => document.querySelector(':is(.timeline, .profile-verdict, .code, .empty, tbody tr)') !== null,
  );
  return opened;
}

async function press(page: Page, name: string): Promise<void> {
  await page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
}

async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await (window as never as { axe: typeof import('axe-core') }).axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

describe('every screen of a job', () => {
  it.each(['light', 'dark'] as const)('has no violation of accessibility rules in the %s theme', async (theme) => {
    for (const path of SCREENS) {
      const { page, problems } = await open(path, { theme });
      expect(await violationsOf(page), path).toEqual([]);
      expect(problems, path).toEqual([]);
      await page.close();
    }
  });

  it('fits on a phone', async () => {
    for (const path of SCREENS) {
      const { page } = await open(path, { viewport: PHONE });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, path).toBeLessThanOrEqual(0);
      await page.close();
    }
  });
});

describe('a job of another user', () => {
  it('says in words why its buttons are disabled, and shows its cause without evidence', async () => {
    const { page, text } = await open('/jobs/kept_by_ada');
    expect(await text()).toContain('This job belongs to ada@example.com');
    const disabled = await page.$$eval('button[disabled]', (buttons) =>
      buttons.map(({ innerText }) => innerText.trim()),
    );
    expect(disabled).toEqual(['Copy as command', 'Clone…', 'Release…']);
    const running = await open('/jobs/of_ada?tab=profile');
    expect(await running.page.$('.profile-form')).toBeNull();
  });
});

describe('a profile', () => {
  it('is followed from its request to the verdict, which a reload shows again', async () => {
    const { page, problems, text } = await open('/jobs/profiled?tab=profile');
    await press(page, 'Profile');
    await awaitInPage(page, () => document.body.innerText.includes('Input-bound: the training waits for its data.'));
    expect(await text()).toContain('use more of them (num_workers=8)');
    await awaitInPage(page, () => document.querySelector('[aria-label="Profiles"]') !== null);
    const link = await page.$eval('.profile-download a', (one) => (one as HTMLAnchorElement).getAttribute('href'));
    expect(link).toBe(
      '/v1/jobs/profiled/files/content?name=dropforge-profiles%2Fprofiled%2Fattempt-2-master-0-1.speedscope.json',
    );
    await page.reload();
    await awaitInPage(page, () => document.body.innerText.includes('Input-bound: the training waits for its data.'));
    expect(problems).toEqual([]);
  });
});

describe('a container', () => {
  it('whose image is being pulled shows how far', async () => {
    const { text } = await open('/jobs/pulling');
    expect(await text()).toContain('Pulling the image: 1.5 GiB of 4.21 GiB · 36%');
    expect(await text()).toContain('4 × a2-highgpu-1g + n1-standard-4');
  });

  it('that was not started has no metrics because its program did not run', async () => {
    const { page } = await open('/jobs/container_not_started');
    await awaitInPage(page, () => document.body.innerText.includes('The program did not run'));
  });
});
