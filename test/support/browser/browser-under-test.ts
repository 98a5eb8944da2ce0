import { setTimeout } from 'node:timers/promises';
import bundled from '@sparticuz/chromium';
import { type Browser, launch, type Page } from 'puppeteer-core';
import { findProgram } from '../find-program.ts';

/** In the order of preference. */
const BROWSERS = ['chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser'];

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 740, isMobile: true, hasTouch: true };

/** Chromium: the one that is installed, otherwise that of a package, so that a machine without a browser passes. */
export async function openBrowser(): Promise<Browser> {
  const installed = BROWSERS.map(findProgram).find((path) => path !== undefined);
  return launch({
    executablePath: installed ?? (await bundled.executablePath()),
    // Not the package's own arguments: they put everything into one process, which hangs after some pages.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--force-color-profile=srgb'],
    headless: installed === undefined ? 'shell' : true,
  });
}

/** Called after each test, so that its tabs no longer poll: in the package's Chromium, every tab counts as shown. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all((await browser.pages()).map((page) => page.close()));
}

export type PageUnderTest = {
  readonly page: Page;
  /** Errors of scripts, failed requests and violations of the Content-Security-Policy so far. */
  readonly problems: string[];
  /** Paths of the requests so far. */
  readonly requests: string[];
  /** All text that is rendered. */
  text(): Promise<string>;
};

export type PageOptions = {
  readonly theme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
};

/** A tab that records what goes wrong in it. */
export async function openPage(browser: Browser, options: PageOptions = {}): Promise<PageUnderTest> {
  const page = await browser.newPage();
  const problems: string[] = [];
  const requests: string[] = [];
  await page.setViewport(options.viewport ?? DESKTOP);
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: options.theme ?? 'light' },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]);
  page.on('pageerror', (error) => problems.push(`script: ${String(error)}`));
  page.on('console', (message) => {
    // A 404 is an answer that the page expects: of series or files that do not exist.
    if (message.type() === 'error' && !message.text().includes('status of 404')) {
      problems.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  return { page, problems, requests, text: () => page.evaluate(() => document.body.innerText) };
}

const WAIT_MS_MAX = 60_000;
const POLL_INTERVAL_MS = 100;

/**
 * Waits until a condition holds in the page. It is evaluated from outside, each time in the document of that moment:
 * Puppeteer's own wait was seen to hang for a page that replaced its document. A failure says what the page showed.
 */
export async function awaitInPage(page: Page, condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS_MAX; Date.now() < deadline; ) {
    if (await page.evaluate(condition).catch(() => false)) {
      return;
    }
    await setTimeout(POLL_INTERVAL_MS);
  }
  const shown = await page.evaluate(() => document.body.innerText).catch(String);
  throw new Error(`${page.url()} did not reach ${String(condition)} in ${WAIT_MS_MAX / 1_000} s; it showed: ${shown}`);
}
