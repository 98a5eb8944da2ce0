import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { type SeriesPage, seriesPageSchema } from '#shared/protocol/metric-series.ts';
import { listParts } from '#shared/views/metrics/list-parts.ts';
import { PartCache } from '#shared/views/metrics/part-cache.ts';
import { readSeriesIndex } from '#shared/views/metrics/read-series-index.ts';
import { readSeriesPage } from '#shared/views/metrics/read-series-page.ts';
import { jobFile, packProgram, startCloudUnderTest } from '../test/support/e2e/cloud-under-test.ts';
import { seriesLine, writePart } from '../test/support/metrics/series-parts.ts';
import type { BenchRow } from './bench-row.ts';

const POINTS = 1_000_000;
const SERIES = 20;
const POINTS_PER_PART = 50_000;
const FIRST_MS_MAX = 3_000;
const LATER_MS_MAX = 300;
const LATENCY_MS_MAX = 10_000;
const REPORTS = 60;
const POLL_MS = 100;

/** Each value is the time of its report. */
const REPORTER = `
import os, time
for step in range(${REPORTS}):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write('{"step": %d, "at": %f}' % (step, time.time()) + chr(10))
    time.sleep(0.5)
time.sleep(5)
`;

/** Measures how fast the API reads a job with a million points, and when it has a point after the program reported it. */
export async function* benchMetricsReading(): AsyncGenerator<BenchRow> {
  yield* await readMillion();
  yield await followReports();
}

async function readMillion(): Promise<readonly BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-metrics-'));
  const database = openDatabase(join(directory, 'state.sqlite'));
  try {
    const objects = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
    objects.createBucket('jobs');
    for (let part = 0; part < POINTS / POINTS_PER_PART; part += 1) {
      const lines = Array.from({ length: SERIES }, (_, series) => {
        const start = (part * POINTS_PER_PART) / SERIES;
        const values = Array.from({ length: POINTS_PER_PART / SERIES }, (_, at) => Math.sin(start + at + series));
        return seriesLine(`metric${series}`, values, { step: start, time: 1_000 * start });
      });
      await writePart(objects, lines, { number: part + 1 });
    }
    const cache = new PartCache();
    const owner = { jobId: 'digits', spec: { jobDir: 'gs://jobs/digits' }, attempt: 1, createdAt: 0 };
    const index = async () => {
      const listed = await listParts(objects, owner);
      return readSeriesIndex({ objects }, cache, { jobId: 'digits', listed });
    };
    const page = async () => {
      const query = { kind: 'PROGRAM', names: ['metric7'], replica: undefined, pointsMax: 1_000 } as const;
      const range = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
      const listed = await listParts(objects, owner);
      return readSeriesPage({ objects }, cache, { jobId: 'digits', listed, query: { ...query, ...range } });
    };
    return [
      toRow('names and newest values of 1,000,000 points in 20 series, first request', await time(index), FIRST_MS_MAX),
      toRow('the same, later requests', await time(index), LATER_MS_MAX),
      toRow('1,000 points of one of them', await time(page), LATER_MS_MAX),
    ];
  } finally {
    database.close();
    await rm(directory, { recursive: true });
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function followReports(): Promise<BenchRow> {
  const cloud = await startCloudUnderTest();
  try {
    await cloud.upload('follow.tar.gz', await packProgram(REPORTER, jobFile('follow')));
    await cloud.awaitJob('follow', ({ replicas }) => replicas.length > 0);
    const delays: number[] = [];
    let last = -1;
    while (last < REPORTS - 1) {
      const response = await fetch(`${cloud.endpoints.api}/v1/jobs/follow/metrics/points?name=at&pointsMax=4000`);
      const [series]: SeriesPage['series'] = seriesPageSchema.parse(await response.json()).series;
      const now = Date.now();
      for (const [index, step] of (series?.steps ?? []).entries()) {
        if (step > last) {
          delays.push(now - 1_000 * Number(series?.values[index]));
          last = step;
        }
      }
      await delay(POLL_MS);
    }
    const sorted = delays.toSorted((a, b) => a - b);
    const quantile = (fraction: number) => sorted[Math.floor(fraction * (sorted.length - 1))] ?? Number.NaN;
    return {
      name: 'from a report to the API, embedded cloud (reads every 1 s, sync every 2 s; floor: the median)',
      measured: `p95 ${quantile(0.95).toFixed(0)} ms`,
      floor: `p50 ${quantile(0.5).toFixed(0)} ms`,
      ratio: quantile(0.95) / quantile(0.5),
      goal: `p95 <= ${LATENCY_MS_MAX} ms`,
      isMet: quantile(0.95) <= LATENCY_MS_MAX,
    };
  } finally {
    await cloud.stop();
  }
}

function toRow(name: string, ms: number, msMax: number): BenchRow {
  return {
    name,
    measured: `${ms.toFixed(0)} ms`,
    floor: `${msMax} ms`,
    ratio: ms / msMax,
    goal: `time <= ${msMax} ms`,
    isMet: ms <= msMax,
  };
}
