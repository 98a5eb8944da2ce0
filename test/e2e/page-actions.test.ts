import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { awaitInPage, closePages, openBrowser, openPage } from '../support/browser/browser-under-test.ts';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const FAILS = `raise RuntimeError('the loss exploded')\n`;

let cloud: CloudUnderTest;
let browser: Browser;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 300, sweepMs: 300, keptCheckMs: 300 } });
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser?.close();
  await cloud?.stop();
});

async function openJob(jobId: string, query = '') {
  const opened = await openPage(browser);
  await opened.page.goto(`${cloud.endpoints.api}/jobs/${jobId}${query}`);
  return opened;
}

async function press(page: Page, name: string): Promise<void> {
  await page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
}

async function submitKept(name: string): Promise<void> {
  await cloud.upload(
    `${name}.tar.gz`,
    await packProgram(FAILS, { name, module: 'trainer.task', keepOnFailure: '30m' }),
  );
  await cloud.awaitJob(name, ({ kept }) => kept !== null);
}

const vmsOf = async (name: string) => (await cloud.listVms()).filter(({ jobId }) => jobId === name);

describe('the VM of a failed program', () => {
  it('is released after a confirmation, and the page says that it is deleted', async () => {
    await submitKept('looked_at');
    const { page, problems, text } = await openJob('looked_at');
    await press(page, 'Release…');
    await press(page, 'Keep it');
    expect((await cloud.readJob('looked_at'))?.kept?.releaseTime).toBeNull();

    await press(page, 'Release…');
    await press(page, 'Release the VM');
    await awaitInPage(page, () => document.body.innerText.includes('The VM of looked_at is being deleted.'));
    await awaitInPage(page, () => !document.body.innerText.includes('is kept for a look'));
    await cloud.awaitJob('looked_at', ({ endTime }) => endTime !== null);
    expect(await vmsOf('looked_at')).toEqual([]);
    expect(await text()).not.toContain('is not kept any longer');
    expect(problems).toEqual([]);
  });

  it('that another user releases meanwhile closes the question, and says so', async () => {
    await submitKept('shared');
    const { page, problems } = await openJob('shared');
    await press(page, 'Release…');
    await page.waitForSelector('dialog[open]');
    await runCli(['jobs', 'release', 'shared'], { dataDir: cloud.dataDir });
    await awaitInPage(page, () => document.body.innerText.includes('The VM of shared is not kept any longer.'));
    expect(await page.$('dialog')).toBeNull();
    expect(problems).toEqual([]);
  });
});
