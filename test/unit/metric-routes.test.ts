import { gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { routeMetrics } from '#shared/api/metric-routes.ts';
import { AccessDeniedError, type ObjectStore } from '#shared/ports/object-store.ts';
import {
  type SeriesIndex,
  type SeriesPage,
  seriesIndexSchema,
  seriesPageSchema,
} from '#shared/protocol/metric-series.ts';
import { makeDirectoryForEachTest } from '../support/contract/directory-object-store-under-test.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { searchingTuning } from '../support/domain/example-tuning.ts';
import { seriesLine, writePart } from '../support/metrics/series-parts.ts';

const FOLDER = 'digits/dropforge-metrics/digits';

const directory = makeDirectoryForEachTest();
let database: Database;
let objects: ObjectStore;
let reads: string[];
let app: Hono;

beforeEach(async () => {
  database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const tunings = openSqliteTuningStore(database);
  await jobs.create({ ...queuedJob(), attempt: 2, createdAt: 1_000_000 }, []);
  await jobs.create({ ...queuedJob(), jobId: 'digits2', createdAt: 1_000_000 }, []);
  await tunings.create(searchingTuning({ tuningId: 'search' }), []);
  const { store } = directory.open(1_000_000);
  store.createBucket('jobs');
  reads = [];
  objects = {
    ...store,
    read(object, options) {
      reads.push(object.name);
      return store.read(object, options);
    },
  };
  app = new Hono();
  app.onError((error) => (error instanceof HTTPException ? error.getResponse() : Promise.reject(error)));
  routeMetrics(app, {
    jobs,
    tunings,
    objects: { ...objects, read: (...args) => objects.read(...args), list: (query) => objects.list(query) },
  });
});
afterEach(() => database.close());

const get = async (path: string, headers: Record<string, string> = {}) =>
  await app.request(`/v1/jobs/${path}`, { headers });

async function index(jobId = 'digits'): Promise<SeriesIndex> {
  return seriesIndexSchema.parse(await (await get(`${jobId}/metrics`)).json());
}

async function page(query: string, jobId = 'digits'): Promise<SeriesPage> {
  return seriesPageSchema.parse(await (await get(`${jobId}/metrics/points?${query}`)).json());
}

describe('the metrics of a job', () => {
  it('are an empty list before there are any, and for a tuning', async () => {
    expect(await index()).toMatchObject({ jobId: 'digits', series: [], omitted: { series: 0, points: 0, objects: 0 } });
    expect(await index('search')).toMatchObject({ jobId: 'search', series: [] });
    expect((await page('name=loss')).series).toEqual([]);
    expect((await get('unknown/metrics')).status).toBe(404);
  });

  it('are listed with their newest values, over all attempts, replicas and parts', async () => {
    await writePart(objects, [seriesLine('loss', [3, 2]), seriesLine('accuracy', [0.5])]);
    await writePart(objects, [seriesLine('loss', [1, 'NaN'], { step: 3, time: 12_000 })], { number: 2 });
    await writePart(objects, [seriesLine('loss', [4], { step: 2, time: 20_000 })], { attempt: 2 });
    const system = { step: null, time: 20_000 };
    await writePart(objects, [seriesLine('gpu/0/power', [60, 70], system)], { kind: 'system', replica: 'worker-1' });
    expect((await index()).series).toEqual([
      {
        ...{ name: 'accuracy', kind: 'PROGRAM', replica: 'master-0', pointCount: 1, unit: null },
        ...{ last: { attempt: 1, step: 1, at: 10_000, value: 0.5 }, min: 0.5, max: 0.5 },
      },
      {
        ...{ name: 'loss', kind: 'PROGRAM', replica: 'master-0', pointCount: 5, unit: null },
        ...{ last: { attempt: 2, step: 2, at: 20_000, value: 4 }, min: 1, max: 4 },
      },
      {
        ...{ name: 'gpu/0/power', kind: 'SYSTEM', replica: 'worker-1', pointCount: 2, unit: 'watts' },
        ...{ last: { attempt: 1, step: null, at: 21_000, value: 70 }, min: 60, max: 70 },
      },
    ]);
  });

  it('have a curve for each attempt, in the order of its parts', async () => {
    await writePart(objects, [seriesLine('loss', [1, 'NaN'], { step: 3, time: 12_000 })], { number: 2 });
    await writePart(objects, [seriesLine('loss', [3, 2])]);
    await writePart(objects, [seriesLine('loss', [4], { step: 2, time: 20_000 })], { attempt: 2 });
    expect((await page('name=loss&name=unknown')).series).toMatchObject([
      { attempt: 1, steps: [1, 2, 3, 4], values: [3, 2, 1, 'NaN'], times: [10_000, 11_000, 12_000, 13_000] },
      { attempt: 2, steps: [2], values: [4], pointCount: 1 },
    ]);
    expect((await page('name=loss&from=11000&to=12000')).series).toMatchObject([{ values: [2, 1], pointCount: 2 }]);
  });

  it('are those of this job alone, although others share its job directory or had its id before', async () => {
    await writePart(objects, [seriesLine('theirs', [1])], { jobId: 'digits2' });
    await writePart(objects, [seriesLine('later', [1])], { attempt: 3 });
    directory.clock.ms = 1_000;
    await writePart(objects, [seriesLine('earlier', [1])]);
    expect(await index()).toMatchObject({ series: [], omitted: { objects: 2 } });
  });

  it('are answered with 304 while nothing changed, and in full after that', async () => {
    await writePart(objects, [seriesLine('loss', [1])]);
    const first = await get('digits/metrics');
    const etag = first.headers.get('etag') ?? '';
    const reading = reads.length;
    for (const path of ['digits/metrics', 'digits/metrics/points?name=loss']) {
      const again = await get(path, { 'if-none-match': `"other", W/${etag}` });
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect(reads).toHaveLength(reading);
    await writePart(objects, [seriesLine('loss', [1, 2])]);
    expect((await get('digits/metrics', { 'if-none-match': etag })).status).toBe(200);
    expect((await page('name=loss')).series).toMatchObject([{ values: [1, 2] }]);
  });

  it('are read from the bucket once: later requests read what is new', async () => {
    await writePart(objects, [seriesLine('loss', [1])]);
    await index();
    const second = await writePart(objects, [seriesLine('loss', [2])], { number: 2 });
    reads.splice(0);
    await page('name=loss');
    await index();
    expect(reads).toEqual([second]);
  });

  it('are thinned out, but keep the extremes, the ends and what is not finite', async () => {
    const values = Array.from({ length: 90_000 }, (_, at) => Math.sin(at));
    values[33_333] = 50;
    values[44_444] = -50;
    const parts = [0, 1, 2].map((part) => values.slice(part * 30_000, (part + 1) * 30_000));
    for (const [part, own] of parts.entries()) {
      const line = seriesLine(
        'loss',
        own.map((value, at) => (part === 1 && at === 7 ? 'Infinity' : value)),
        {
          step: part * 30_000,
          time: part * 30_000_000,
        },
      );
      await writePart(objects, [line], { number: part + 1 });
    }
    const [series] = (await page('name=loss&pointsMax=100')).series;
    expect(series?.pointCount).toBe(90_000);
    expect(series?.values.length).toBeLessThanOrEqual(100);
    expect(series?.values.length).toBeGreaterThan(70);
    expect(series?.values).toEqual(expect.arrayContaining([50, -50, 'Infinity']));
    expect([series?.steps?.[0], series?.steps?.at(-1)]).toEqual([0, 89_999]);
    expect(series?.steps).toEqual(series?.steps?.toSorted((a, b) => a - b));
  });

  it('say what agents left out, and count what no agent has written', async () => {
    const omitted = (series: number, points: number) => JSON.stringify({ omitted: { series, points } });
    await writePart(objects, [omitted(1, 5), seriesLine('loss', [1]), omitted(9_000, 70)]);
    await writePart(objects, [omitted(9_000, 100), '{"name":"loss"', '{"name":7}', seriesLine('x'.repeat(129), [1])], {
      number: 2,
    });
    await writePart(objects, [omitted(3, 11)], { boot: 1 });
    const bytes = { bomb: gzipSync(Buffer.alloc(20_000_000)), text: Buffer.from('hello') };
    await objects.write(
      { bucket: 'jobs', name: `${FOLDER}/attempt-1-ps-0-boot-0000-000001.metrics.jsonl.gz` },
      bytes.bomb,
    );
    await objects.write(
      { bucket: 'jobs', name: `${FOLDER}/attempt-1-ps-0-boot-0000-000002.metrics.jsonl.gz` },
      bytes.text,
    );
    await objects.write({ bucket: 'jobs', name: `${FOLDER}/../x` }, bytes.text);
    expect(await index()).toMatchObject({
      series: [{ name: 'loss', pointCount: 1 }],
      omitted: { series: 9_000, points: 111, objects: 6 },
    });
    expect((await page('name=loss')).series).toMatchObject([{ values: [1] }]);
  });

  it.each([
    ['', 'names 0 series'],
    [`${Array.from({ length: 51 }, (_, at) => `name=${at}`).join('&')}`, 'names 51 series'],
    ['name=loss&kind=OTHER', 'OTHER is not a kind'],
    ['name=loss&replica=..', '.. is not a valid replica'],
    ['name=loss&pointsMax=4001', '4001 is not an integer from 1 to 4000'],
    ['name=loss&from=yesterday', 'yesterday is not a valid time'],
    [`name=${'x'.repeat(201)}`, 'longer than 200 characters'],
  ])('are refused for the query %s', async (query, message) => {
    const response = await get(`digits/metrics/points?${query}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(message);
  });

  it('name the missing role if the bucket may not be listed', async () => {
    objects = {
      ...objects,
      list: async ({ bucket, prefix }) => {
        throw new AccessDeniedError({ bucket, name: prefix });
      },
    };
    const response = await get('digits/metrics');
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('roles/storage.objectViewer on jobs');
  });
});
