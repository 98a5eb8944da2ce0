import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { getRequestListener } from '@hono/node-server';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeServer, listen } from '../../infra/embedded/http/server.ts';
import { awaitInPage, closePages, openBrowser, openPage, PHONE } from '../support/browser/browser-under-test.ts';
import { replicaOf, trialOf } from '../support/cli/test-cloud.ts';
import { exampleLogEntry } from '../support/embedded/example-log-entry.ts';
import { keptJob, pullingJob, refusedJobs } from '../support/page/example-containers.ts';
import { exampleFront, exampleSearch } from '../support/page/example-tunings.ts';
import { interruptedJob } from '../support/page/example-views.ts';
import { createFixtureApi, type FixtureJob } from '../support/page/fixture-api.ts';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const START = Date.now() - 30 * 60_000;

const JOBS: ReadonlyMap<string, FixtureJob> = new Map([
  ['running', interruptedJob('running', START)],
  ['search', exampleSearch('search', START)],
  ['front', exampleFront('front', START)],
  ...['front_trial_27', 'front_trial_30'].map((jobId) => [jobId, interruptedJob(jobId, START)] as const),
  ['long', longSearch('long', 1_100)],
  ['pulling', pullingJob('pulling', START)],
  ['cluster', cluster('cluster')],
  ['kept', keptJob('kept', Date.now())],
  ...refusedJobs(START),
]);

/** A search with many trials. */
function longSearch(jobId: string, count: number): FixtureJob {
  const { view } = exampleSearch(jobId, START);
  const trials = Array.from({ length: count }, (_, index) => trialOf(String(index + 1), { objective: index / count }));
  return { view, trials };
}

/** A cluster of a hundred replicas, each with a line of its own in the log. */
function cluster(jobId: string): FixtureJob {
  const { view } = interruptedJob(jobId, START);
  const names = ['master-0', ...Array.from({ length: 99 }, (_, index) => `worker-${index}`)];
  const machine = { machineType: 'n1-standard-4', accelerator: null };
  const replicas = names.map((replica) => replicaOf({ replica, restarts: replica === 'worker-7' ? 2 : 0 }));
  const log = names.map((replica) => ({ ...exampleLogEntry(`printed by ${replica}`), jobId, replica }));
  const machines = ['master', 'worker'].map((role) => ({ ...machine, role, count: role === 'master' ? 1 : 99 }));
  return { view: { ...view, machines, replicas }, log };
}

const SCREENS = [
  '/jobs/cluster?tab=replicas',
  '/jobs/running',
  '/jobs/search',
  '/jobs/front',
  '/jobs/pulling?tab=definition',
  '/jobs/kept',
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
    () => document.querySelector(':is(.timeline, .code, .empty, .error-panel, tbody tr)') !== null,
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

it('a cluster has a row for each of its hundred replicas, which leads to the log of that one', async () => {
  const { page, problems, text } = await open('/jobs/cluster?tab=replicas');
  const rows = await page.$$eval('tbody tr', (all) => all.map((row) => row.firstElementChild?.textContent));
  expect([rows.length, rows[0], rows.at(-1)]).toEqual([100, 'master-0', 'worker-98']);
  await page.locator('::-p-xpath(//a[normalize-space()="worker-7"])').click();
  await awaitInPage(page, () => document.body.innerText.includes('printed by worker-7'));
  expect(await text()).not.toContain('printed by worker-8');
  expect(problems).toEqual([]);
});

describe('every screen of a job', () => {
  it.each(['light', 'dark'] as const)('has no violation of accessibility rules in the %s theme', async (theme) => {
    for (const path of SCREENS) {
      const { page, problems } = await open(path, { theme });
      expect(await violationsOf(page), path).toEqual([]);
      // The log of another user's job is denied, which the screen says.
      expect(problems.filter((problem) => !problem.includes('403'))).toEqual([]);
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

describe('the list', () => {
  it('says of a failed job until when its VM is kept, before its error', async () => {
    const { text } = await open('/');
    expect(await text()).toMatch(/VM kept until \d{1,2}:\d\d.*The program failed with exit code 1\./);
  });
});

describe('a container', () => {
  it('whose image is being pulled shows how far', async () => {
    const { text } = await open('/jobs/pulling');
    expect(await text()).toContain('Pulling the image');
    expect(await text()).toContain('4 × a2-highgpu-1g + n1-standard-4');
  });

  it('that was not started has no metrics because its program did not run', async () => {
    const { page } = await open('/jobs/container_not_started');
    await awaitInPage(page, () => document.body.innerText.includes('The program did not run'));
  });
});

describe('a tuning with two objectives', () => {
  it('names the trial at the pointer, and opens the job of one that is clicked', async () => {
    const { page, problems } = await open('/jobs/front');
    await awaitInPage(page, () => document.querySelector('.plot .u-over') !== null);
    const box = await (await page.$('.plot .u-over'))?.boundingBox();
    // The best trial by the objective of the vertical axis is at the right end of the front.
    for (let right = 0; right < 200; right += 6) {
      await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - right, (box?.y ?? 0) + 22);
      if (await page.$eval('.front-caption', (caption) => (caption as HTMLElement).innerText.includes('Trial 30'))) {
        break;
      }
    }
    const caption = await page.$eval('.front-caption', (one) => (one as HTMLElement).innerText);
    expect(caption).toContain('Trial 30, optimal: accuracy 0.9742, latency_ms 35.73; hidden=126 learning_rate=0.00062');
    await page.mouse.down();
    await page.mouse.up();
    await awaitInPage(page, () => location.pathname === '/jobs/front_trial_30');
    expect(problems).toEqual([]);
  });

  it('is operable by keyboard, and has a table', async () => {
    const { page } = await open('/jobs/front');
    const plot = await page.waitForSelector('[aria-label="Trials by latency_ms and accuracy"]');
    await plot?.focus();
    await page.keyboard.press('Home');
    await awaitInPage(page, () => document.querySelector('.plot[aria-valuetext^="Trial 27, optimal"]') !== null);
    await page.keyboard.press('ArrowRight');
    await awaitInPage(page, () => document.querySelector('.plot[aria-valuetext^="Trial 28, optimal"]') !== null);
    await press(page, 'Pareto front: table');
    await awaitInPage(page, () => document.querySelectorAll('.value-table tbody tr').length === 39);
    expect(await page.$$eval('.value-table .row-best', (rows) => rows.length)).toBe(13);
    await press(page, 'Pareto front: chart');
    await page.focus('.plot');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await awaitInPage(page, () => location.pathname === '/jobs/front_trial_27');
  });
});

describe('a tuning of more than a page of trials', () => {
  it('shows the trials of all pages', async () => {
    const { page } = await open('/jobs/long');
    await awaitInPage(page, () => document.querySelectorAll('[aria-label="Trials"] tbody tr').length === 1_100);
  });
});

describe('the diagnosis of a failure', () => {
  it('links to what it means, which every deployment serves', async () => {
    const { page, problems, text } = await open('/jobs/kept');
    await page.locator('::-p-aria([name="What user_exception means"][role="link"])').click();
    await awaitInPage(page, () => document.querySelector('h1')?.textContent === 'Error in the program');
    expect(await text()).toContain('Read the exception and the last frame of the program');
    expect(await violationsOf(page)).toEqual([]);
    await page.reload();
    await awaitInPage(page, () => document.title === 'user_exception · Dropforge');
    await page.goto(`${origin}/diagnosis/toString`);
    await awaitInPage(page, () => document.body.innerText.includes('There is no diagnosis of this name'));
    expect(problems).toEqual([]);
  });
});
