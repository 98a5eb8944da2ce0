import { serve } from '@hono/node-server';
import type { Browser, Page } from 'puppeteer-core';
import { openBrowser, openPage } from '../test/support/browser/browser-under-test.ts';
import { exampleMetric } from '../test/support/page/example-series.ts';
import { exampleLog, interruptedJob } from '../test/support/page/example-views.ts';
import { createFixtureApi } from '../test/support/page/fixture-api.ts';
import type { BenchRow } from './bench-row.ts';

const METRICS = 200;
const POINTS_PER_METRIC = 5_000;
const LOG_LINES = 100_000;

/** A screen that refreshes 60 times a second shows each frame this long. */
const FRAME_MS = 1_000 / 60;
const LOAD_GOAL_MS = 2_000;
const LOG_GOAL_MS = 10_000;

/** The screen of a job with 1,000,000 points in 200 metrics, and with a log of 100,000 lines, in a real browser. */
export async function* benchPageCharts(): AsyncGenerator<BenchRow> {
  const start = Date.now() - POINTS_PER_METRIC * 100;
  const series = Array.from({ length: METRICS }, (_, index) =>
    exampleMetric(`group${index % 10}/metric${index}`, { to: POINTS_PER_METRIC, start, msPerStep: 100 }),
  );
  const { view } = interruptedJob('large', start);
  const app = createFixtureApi(new Map([['large', { view, series, log: exampleLog('large', start, LOG_LINES) }]]));
  const server = serve({ fetch: app.fetch, port: 0 });
  await new Promise((resolve) => server.once('listening', resolve));
  const browser = await openBrowser();
  try {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const origin = `http://127.0.0.1:${port}`;
    // The first request builds the page.
    await (await fetch(`${origin}/`)).text();
    yield* await measureCharts(browser, origin);
    yield* await measureLog(browser, origin);
  } finally {
    await browser.close();
    server.close();
  }
}

async function measureCharts(browser: Browser, origin: string): Promise<BenchRow[]> {
  const { page } = await openPage(browser);
  const startedAt = performance.now();
  await page.goto(`${origin}/jobs/large`);
  await page.waitForSelector('.plot canvas');
  const loadMs = performance.now() - startedAt;
  await page.waitForNetworkIdle();
  const moving = await measureFrames(page, () => moveOver(page));
  const zooming = await measureFrames(page, () => zoomTwice(page));
  const scrolling = await measureFrames(page, () => scrollDown(page));
  return [
    timeRow('job with 1,000,000 points: first chart', loadMs, LOAD_GOAL_MS),
    frameRow('… cursor over linked charts, frames (p95)', moving),
    frameRow('… zoom and finer points, frames (p95)', zooming),
    frameRow('… scrolling past 200 charts, frames (p95)', scrolling),
  ];
}

async function measureLog(browser: Browser, origin: string): Promise<BenchRow[]> {
  const { page } = await openPage(browser);
  const startedAt = performance.now();
  await page.goto(`${origin}/jobs/large?tab=log`);
  const lines = LOG_LINES.toLocaleString('en-US');
  await page.waitForFunction(
    (count) => document.body.innerText.includes(`${count} lines`),
    { timeout: 120_000 },
    lines,
  );
  const loadMs = performance.now() - startedAt;
  const scrolling = await measureFrames(page, () => scrollLog(page));
  const searchedAt = performance.now();
  await page.type('[aria-label="Search the log"]', '99999');
  await page.waitForSelector('.log-row mark');
  const searchMs = performance.now() - searchedAt;
  return [
    timeRow(`log of ${lines} lines: read whole`, loadMs, LOG_GOAL_MS),
    frameRow('… scrolling through it, frames (p95)', scrolling),
    timeRow('… search of five characters as they are typed', searchMs, LOAD_GOAL_MS),
  ];
}

/** The durations between frames while something happens. */
async function measureFrames(page: Page, act: () => Promise<void>): Promise<readonly number[]> {
  await page.evaluate(() => {
    const state = { frames: [] as number[], isOver: false };
    (window as never as { frameState: typeof state }).frameState = state;
    let last = performance.now();
    const count = () => {
      const now = performance.now();
      state.frames.push(now - last);
      last = now;
      if (!state.isOver) {
        requestAnimationFrame(count);
      }
    };
    requestAnimationFrame(count);
  });
  await act();
  return page.evaluate(() => {
    const { frameState } = window as never as { frameState: { frames: number[]; isOver: boolean } };
    frameState.isOver = true;
    return frameState.frames.slice(1);
  });
}

async function moveOver(page: Page): Promise<void> {
  const box = await (await page.$('.plot'))?.boundingBox();
  for (let step = 0; box && step < 150; step += 1) {
    await page.mouse.move(box.x + 70 + ((box.width - 90) * (step % 75)) / 75, box.y + box.height / 2);
  }
}

async function zoomTwice(page: Page): Promise<void> {
  const box = await (await page.$('.plot'))?.boundingBox();
  for (let round = 0; box && round < 2; round += 1) {
    await page.mouse.move(box.x + 0.4 * box.width, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 40, { steps: 10 });
    await page.mouse.up();
    await page.waitForNetworkIdle({ idleTime: 200 });
  }
}

async function scrollDown(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let step = 0; step < 120; step += 1) {
      window.scrollBy(0, 120);
      await new Promise(requestAnimationFrame);
    }
  });
}

async function scrollLog(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const rows = document.querySelector('.log-rows');
    for (let step = 0; rows !== null && step < 120; step += 1) {
      rows.scrollTop = (step / 120) * rows.scrollHeight;
      await new Promise(requestAnimationFrame);
    }
  });
}

function timeRow(name: string, ms: number, goalMs: number): BenchRow {
  const [measured, floor] = [`${Math.round(ms)} ms`, `${goalMs} ms`];
  return { name, measured, floor, ratio: ms / goalMs, goal: `at most ${floor}`, isMet: ms <= goalMs };
}

/** Two frames at most: slower movements are seen as such. */
function frameRow(name: string, frames: readonly number[]): BenchRow {
  const ordered = frames.toSorted((a, b) => a - b);
  const p95 = ordered[Math.floor(0.95 * ordered.length)] ?? Number.NaN;
  const worst = ordered.at(-1) ?? Number.NaN;
  return {
    name,
    measured: `${p95.toFixed(1)} ms (worst ${worst.toFixed(0)})`,
    floor: `${FRAME_MS.toFixed(1)} ms`,
    ratio: p95 / FRAME_MS,
    goal: 'at most two frames',
    isMet: p95 <= 2 * FRAME_MS + 1,
  };
}
