import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { awaitInPage, closePages, openBrowser, openPage, PHONE } from '../support/browser/browser-under-test.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const HOSTILE = '<img src=x onerror="document.title=1">\u202e\u001b[31m';

/** Counts steps, of which it saves every 20th, and reports hostile names and lines. */
const PROGRAM = `
import json, os, sys, time
folder = os.environ['DROPFORGE_OUTPUT_DIR']
steps = int(sys.argv[sys.argv.index('--steps') + 1]) if '--steps' in sys.argv else 400
os.makedirs(os.path.join(folder, 'checkpoints'), exist_ok=True)
state = os.path.join(folder, 'checkpoints', 'last.json')
step = json.load(open(state))['step'] if os.path.exists(state) else 0
print('starting at step', step, flush=True)
print(${JSON.stringify(HOSTILE)}, flush=True)
print('x' * 1000000, flush=True)
while step < steps:
    step += 1
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write(json.dumps({'step': step, 'steps': steps, 'train/loss': 1 / step, ${JSON.stringify(HOSTILE)}: step}) + '\\n')
    if step % 20 == 0:
        print('step %d of %d' % (step, steps), flush=True)
        with open(state + '.tmp', 'w') as file:
            json.dump({'step': step}, file)
        os.replace(state + '.tmp', state)
    time.sleep(0.05)
print('finished', flush=True)
`;

let cloud: CloudUnderTest;
let browser: Browser;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 300, syncMs: 1_000 } });
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser?.close();
  await cloud?.stop();
});

async function submit(jobId: string, args: readonly string[] = []): Promise<void> {
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(PROGRAM, jobFile(jobId, { args })));
}

async function open(path: string, options: Parameters<typeof openPage>[1] = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto(`${cloud.endpoints.api}${path}`);
  return opened;
}

async function click(page: Page, text: string): Promise<void> {
  await page.locator(`::-p-xpath(//button[normalize-space()="${text}"] | //a[normalize-space()="${text}"])`).click();
}

async function violationsOf(page: Page): Promise<readonly string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await (window as never as { axe: typeof import('axe-core') }).axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

describe('the page of a job', () => {
  it('shows the curves of an interrupted job, an attempt in each color, and its log', async () => {
    await submit('curves');
    await cloud.awaitJob('curves', ({ replicas }) => (replicas[0]?.step ?? 0) > 60);
    const { page, problems, text } = await open('/jobs/curves');
    const [vm] = await cloud.listVms();
    await cloud.act(`/vms/${vm?.vmName}:preempt`);
    await page.waitForSelector('.timeline-row:nth-of-type(2)', { timeout: 60_000 });
    await awaitInPage(page, () => document.querySelectorAll('[aria-label="train/loss"] .legend-item').length === 2);
    const colors = await page.$$eval('[aria-label="train/loss"] .legend-line', (lines) =>
      lines.map((line) => getComputedStyle(line).color),
    );
    expect(new Set(colors).size).toBe(2);
    expect(await text()).toContain('PREEMPTED');

    await click(page, 'Log');
    await awaitInPage(page, () => document.body.innerText.includes('step'));
    await page.type('[aria-label="Search the log"]', 'step \\d*0 of');
    await click(page, '.*');
    await page.waitForSelector('.log-row mark');
    await page.$eval('[aria-label="Search the log"]', (input) => {
      (input as HTMLInputElement).value = 'img src';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await awaitInPage(page, () => document.querySelectorAll('.log-row mark').length > 0);
    expect(await page.$$eval('.log-row img', (images) => images.length)).toBe(0);
    expect(await text()).toContain('<U+202E>');
    expect(await page.title()).toBe('curves · Dropforge');
    expect(problems).toEqual([]);
  });

  it('ends the search for an expression that would take forever, and stays operable', async () => {
    const { page, problems, text } = await open('/jobs/curves?tab=log');
    await page.waitForSelector('.log-row');
    await click(page, '.*');
    await page.type('[aria-label="Search the log"]', '(x+)+y');
    await awaitInPage(page, () => document.body.innerText.includes('takes too long'));
    await page.$eval('[aria-label="Search the log"]', (input) => {
      (input as HTMLInputElement).value = 'starting at step \\d';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await page.waitForSelector('.log-row mark');
    expect(await text()).not.toContain('takes too long');
    expect(problems).toEqual([]);
  });

  it('downloads a checkpoint, clones with other arguments and cancels', async () => {
    const { page, problems, text } = await open('/jobs/curves?tab=files&folder=checkpoints/');
    const link = await page.waitForSelector('a[download="last.json"]');
    const address = await link?.evaluate((one) => (one as HTMLAnchorElement).href);
    const response = await fetch(address ?? '');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment/);
    expect(await response.json()).toMatchObject({ step: expect.any(Number) });

    await click(page, 'Clone…');
    const input = await page.waitForSelector('.code-input');
    await input?.evaluate((area) => {
      const element = area as HTMLTextAreaElement;
      element.value = element.value.replace('"args":[]', '"args":["--steps","100000"]');
      element.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await click(page, 'Start');
    await awaitInPage(page, () => location.pathname === '/jobs/curves_2');
    const cloned = await cloud.awaitJob('curves_2', ({ replicas }) => (replicas[0]?.step ?? 0) > 0);
    expect(cloned.replicas[0]?.stepsMax).toBe(100_000);

    await page.waitForSelector('.button-danger');
    await click(page, 'Cancel…');
    await click(page, 'Cancel the job');
    await cloud.awaitJob('curves_2', ({ state }) => state === 'CANCELLED');
    await awaitInPage(page, () => document.body.innerText.includes('Cancelled'));
    expect(await text()).toContain('CANCELLED_BY_USER');
    expect(problems).toEqual([]);
  });

  it('clones a tuning with its study, which its command has, too', async () => {
    const study = { name: 'search', module: 'trainer.task', machine: 'n1-standard-4' };
    const tune = { metric: 'train/loss', trials: 2, parameters: { rate: [1, 2] } };
    await cloud.upload('search.tar.gz', await packProgram('print(1)', { ...study, tune }));
    await cloud.awaitJob('search', () => true);
    const { page, problems, text } = await open('/jobs/search?tab=definition');
    await awaitInPage(page, () => document.body.innerText.includes('jobs submit training search_2'));
    expect(await text()).toContain('"tune":{"metric":"train/loss","trials":2');
    await click(page, 'Clone…');
    await page.waitForSelector('.code-input');
    await click(page, 'Start');
    await awaitInPage(page, () => location.pathname === '/jobs/search_2');
    const cloned = await cloud.awaitJob('search_2', () => true);
    expect(cloned.tuning).toMatchObject({ metricId: 'train/loss', trialsMax: 2 });
    expect(problems).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('has no violation of accessibility rules in the %s theme', async (theme) => {
    for (const path of ['', '?tab=log', '?tab=files', '?tab=definition']) {
      const { page } = await open(`/jobs/curves${path}`, { theme });
      await page.waitForSelector('.plot, .log-row, .file-name, .code');
      expect(await violationsOf(page), path).toEqual([]);
      await page.close();
    }
    const { page } = await open('/compare?jobs=curves,curves_2', { theme });
    await page.waitForSelector('.plot');
    expect(await violationsOf(page)).toEqual([]);
  });

  it('is operable by keyboard: a chart says the values at its cursor', async () => {
    const { page } = await open('/jobs/curves');
    const chart = await page.waitForSelector('[aria-label="train/loss by step"]');
    await chart?.focus();
    const valueText = () => chart?.evaluate((element) => element.getAttribute('aria-valuetext'));
    await page.keyboard.press('Home');
    expect(await valueText()).toMatch(/^step 1: attempt 1 1, /);
    await page.keyboard.press('ArrowRight');
    expect(await valueText()).toMatch(/^step 2: attempt 1 0\.5, /);
    await page.keyboard.press('+');
    await page.waitForSelector('::-p-text(Reset zoom)');
    await page.keyboard.press('Escape');
    await awaitInPage(page, () => !document.body.innerText.includes('Reset zoom'));
  });

  it('fits on a phone', async () => {
    for (const path of ['/jobs/curves', '/jobs/curves?tab=log', '/compare?jobs=curves,curves_2']) {
      const { page } = await open(path, { viewport: PHONE });
      await page.waitForSelector('.plot, .log-row');
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, path).toBeLessThanOrEqual(0);
      await page.close();
    }
  });
});
