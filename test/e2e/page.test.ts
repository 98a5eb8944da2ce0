import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ElementHandle, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { FunctionPorts } from '#functions/function-ports.ts';
import {
  closePages,
  openBrowser,
  openPage,
  type PageOptions,
  type PageUnderTest,
  PHONE,
} from '../support/browser/browser-under-test.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { type CloudUnderTest, packFiles, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
const PROGRAM = `
import json, os, time
for step in range(1, 21):
    time.sleep(0.05)
    print(f"step {step}", flush=True)
    with open(os.environ["DROPFORGE_METRICS_FILE"], "a") as file: file.write(json.dumps({"step": step, "steps": 20, "loss": 1 / step}) + "\\n")
`;
const JOB_FILE = 'name: dropped\nmodule: trainer.task\nmachine: n1-standard-4\nspot: true\nlabels: { team: vision }\n';
/** Markup, a change of direction, and an escape sequence. */
const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202Egnp.exe\u001b[31m';

let cloud: CloudUnderTest;
let ports: FunctionPorts;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-page-'));
  cloud = await startCloudUnderTest(
    { vmsMax: 2 },
    {
      wrapPorts: (given) => {
        ports = given;
        return given;
      },
    },
  );
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser.close();
  await cloud.stop();
  await rm(folder, { recursive: true, force: true });
});

async function open(path: string, options: PageOptions = {}): Promise<PageUnderTest> {
  const tab = await openPage(browser, options);
  await tab.page.goto(`${cloud.endpoints.api}${path}`);
  await tab.page.waitForSelector('h1');
  return tab;
}

async function showing(tab: PageUnderTest, text: string): Promise<void> {
  await until(`the text ${text}`, async () => ((await tab.text()).includes(text) ? true : undefined));
}

async function choose(page: Page, label: string, path: string): Promise<void> {
  const input = await page.waitForSelector(`::-p-xpath(//label[contains(., "${label}")]//input)`);
  await (input as ElementHandle<HTMLInputElement> | null)?.uploadFile(path);
}

async function press(page: Page, name: string): Promise<void> {
  await page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
}

it('a job goes from the drop to SUCCEEDED, seen only through the page', async () => {
  const tab = await open('/');
  await showing(tab, 'Nothing is running.');
  const archive = join(folder, 'dropped.tar.gz');
  await writeFile(
    archive,
    await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': PROGRAM, 'job.yaml': JOB_FILE }),
  );
  await tab.page.locator('::-p-aria([name="New job"])').click();
  await choose(tab.page, 'Choose an archive', archive);
  await showing(tab, 'Ready to start');
  await showing(tab, 'n1-standard-4');
  expect(await tab.text()).toMatch(/\$0\.\d+\/h/);
  expect(await ports.jobs.list({ countMax: 1 })).toEqual([]);

  await press(tab.page, 'Start');

  await until('the page of the job', async () => (tab.page.url().endsWith('/jobs/dropped') ? true : undefined));
  await showing(tab, 'Succeeded');
  await tab.page.locator('::-p-aria([name="Jobs"][role="link"])').click();
  await showing(tab, '20 / 20');
  const line = await tab.page.waitForSelector('.sparkline');
  const label = await line?.evaluate((one) => one.getAttribute('aria-label'));
  expect(label).toBe('loss from 1 to 0.05, lowest 0.05, highest 1');
  const path = await line?.evaluate((one) => one.querySelector('path')?.getAttribute('d'));
  expect(path?.split('L')).toHaveLength(20);
  expect(tab.requests.filter((one) => one === '/v1/metrics/sparklines')).toHaveLength(1);
  expect(tab.problems).toEqual([]);
});

it('a folder is packed without caches and hidden files, and one without a job file says what to do', async () => {
  const root = join(folder, 'plain');
  await mkdir(join(root, 'trainer', '__pycache__'), { recursive: true });
  await writeFile(join(root, 'trainer', '__init__.py'), '');
  await writeFile(join(root, 'trainer', 'task.py'), 'print(1)\n');
  await writeFile(join(root, 'trainer', '__pycache__', 'task.pyc'), 'x');
  await writeFile(join(root, '.secret'), 'x');
  const tab = await open('/drop');

  await choose(tab.page, 'Choose a folder', root);

  await showing(tab, '1 problem must be fixed');
  const text = await tab.text();
  expect(text).toContain('has no job.yaml at its root');
  expect(text).toContain('2 files');
  expect(tab.problems).toEqual([]);
});

it('names, labels and messages of users stay text', async () => {
  const job = queuedJob();
  const waitingFor = { code: 'STOCKOUT', message: HOSTILE, evidence: [] } as unknown as NonNullable<
    typeof job.waitingFor
  >;
  const spec = { ...job.spec, jobId: 'hostile', labels: { note: HOSTILE } };
  await ports.jobs.create({ ...job, jobId: 'hostile', spec, waitingFor, createdAt: Date.now() }, []);

  const tab = await open('/');
  await showing(tab, 'onerror');

  expect(await tab.page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(await tab.page.$('main img, main script')).toBeNull();
  expect(tab.problems).toEqual([]);
});

it.each(['light', 'dark'] as const)('Jobs and Drop have no accessibility violation in the %s theme', async (theme) => {
  for (const path of ['/', '/?state=failed&text=nothing', '/drop']) {
    const tab = await open(path, { theme });
    await until('the list', async () => ((await tab.page.$('.loading')) === null ? true : undefined));
    await tab.page.evaluate(AXE);
    const violations = await tab.page.evaluate(async () => {
      const { axe } = window as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      };
      return (await axe.run()).violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
    });
    expect(violations, path).toEqual([]);
    await tab.page.close();
  }
});

it.each(['/', '/drop'])('%s fits a phone without horizontal scrolling', async (path) => {
  const tab = await open(path, { viewport: PHONE });
  await tab.page.waitForSelector(path === '/' ? '.job-row' : '.drop-zone');
  const [content, screen] = await tab.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(content).toBeLessThanOrEqual(PHONE.width);
  expect(screen).toBe(PHONE.width);
});

it('works with the keyboard alone: skip link, search, filter, and opening a job', async () => {
  const tab = await open('/');
  await tab.page.waitForSelector('.job-row');
  const { keyboard } = tab.page;
  await keyboard.press('Tab');
  expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toContain('Skip to the content');

  await keyboard.press('/');
  await keyboard.type('dropped');
  await until('one row', async () => ((await tab.page.$$('.job-row')).length === 1 ? true : undefined));
  expect(tab.page.url()).toContain('text=dropped');
  await keyboard.press('Tab');
  await keyboard.press('ArrowRight');
  await until('the filter', async () => (tab.page.url().includes('state=active') ? true : undefined));
  await keyboard.press('ArrowLeft');
  await tab.page.waitForSelector('.job-link');
  await tab.page.focus('.job-link');
  await keyboard.press('Enter');

  await until('the job', async () => (tab.page.url().endsWith('/jobs/dropped') ? true : undefined));
});

it('a change is shown without a reload, and a hidden tab requests nothing', async () => {
  const tab = await open('/?text=appears');
  await showing(tab, 'No job matches');
  const job = queuedJob();
  const spec = { ...job.spec, jobId: 'appears' };
  await ports.jobs.create({ ...job, jobId: 'appears', spec, createdAt: Date.now() }, []);
  await showing(tab, 'appears');

  await tab.page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await showing(tab, 'Paused');
  const before = tab.requests.length;
  await ports.jobs.create({ ...job, jobId: 'appears_2', spec, createdAt: Date.now() }, []);
  await cloud.readJob('appears_2');
  expect(tab.requests.length).toBe(before);

  await tab.page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'visible', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await showing(tab, 'appears_2');
});

it('an unknown address says so, with a link to the jobs', async () => {
  const tab = await open('/absent');
  expect(await tab.text()).toContain('This address does not exist');
  await tab.page.locator('::-p-aria([name="Show all jobs"])').click();
  await until('the jobs', async () => (new URL(tab.page.url()).pathname === '/' ? true : undefined));
});

it('a screen whose code throws while it is loaded shows why, and logs it', async () => {
  const tab = await open('/');
  await tab.page.setRequestInterception(true);
  tab.page.on('request', (request) => {
    const isScript = request.url().endsWith('.js');
    const broken = { contentType: 'text/javascript', body: 'throw new Error("defect in the screen")' };
    void (isScript ? request.respond(broken) : request.continue());
  });
  await tab.page.locator('::-p-aria([name="New job"])').click();
  await showing(tab, 'This screen could not be loaded (defect in the screen).');
  expect(tab.problems.join()).toContain('defect in the screen');
});
