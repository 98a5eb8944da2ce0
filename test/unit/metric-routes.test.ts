import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type MetricRoutePorts, routeMetrics } from '#shared/api/metric-routes.ts';
import { addResponseHeaders } from '#shared/api/response-headers.ts';
import { AccessDeniedError, type ObjectStore } from '#shared/ports/object-store.ts';
import type { Sparklines } from '#shared/protocol/answers.ts';
import {
  type SeriesIndex,
  type SeriesPage,
  seriesIndexSchema,
  seriesPageSchema,
} from '#shared/protocol/metric-series.ts';
import { PartCache } from '#shared/views/metrics/part-cache.ts';
import { checkAnswer } from '../support/api/check-answer.ts';
import { makeDirectoryForEachTest } from '../support/contract/directory-object-store-under-test.ts';
import { closedJob, queuedJob } from '../support/domain/example-job.ts';
import { searchingTuning } from '../support/domain/example-tuning.ts';
import { seriesLine, writePart } from '../support/metrics/series-parts.ts';

const FOLDER = 'digits/dropforge-metrics/digits';

const directory = makeDirectoryForEachTest();
let database: Database;
let objects: ObjectStore;
let reads: string[];
let ports: MetricRoutePorts;
let app: Hono;

beforeEach(async () => {
  database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const tunings = openSqliteTuningStore(database);
  await jobs.create({ ...queuedJob(), attempt: 2, createdAt: 1_000_000 }, []);
  await jobs.create({ ...queuedJob(), jobId: 'digits2', createdAt: 1_000_000 }, []);
  await tunings.create(searchingTuning({ tuningId: 'search' }), []);
  const { store } = directory.open(2_000_000);
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
  addResponseHeaders(app);
  ports = {
    jobs,
    tunings,
    objects: { ...objects, read: (...args) => objects.read(...args), list: (query) => objects.list(query) },
  };
  routeMetrics(app, ports, new PartCache());
});
afterEach(() => database.close());

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await app.request(`/v1/jobs/${path}`, { headers });
  await checkAnswer(`/v1/jobs/${path}`, 'GET', response);
  return response;
}

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

  it('stop being read from a part with more points or invalid lines than an agent writes', async () => {
    const zeros = Array.from({ length: 100_000 }, () => 0);
    const line = JSON.stringify({ name: 'loss', at: 1, times: zeros, values: zeros });
    await writePart(
      objects,
      Array.from({ length: 5 }, () => line),
    );
    await writePart(objects, [...Array.from({ length: 10_000 }, () => '{}'), seriesLine('late', [1])], { number: 2 });
    const { series, omitted } = await index();
    expect(series).toMatchObject([{ name: 'loss', pointCount: 300_000 }]);
    expect(omitted.objects).toBeLessThan(200);
  });

  it('of very many parts are read by several requests, none of which is answered as unchanged before', async () => {
    const count = 300;
    for (let number = 1; number <= count; number += 1) {
      await writePart(objects, [seriesLine('loss', [number])], { number });
    }
    const first = await get('digits/metrics');
    const second = await get('digits/metrics', { 'if-none-match': first.headers.get('etag') ?? '' });

    expect(seriesIndexSchema.parse(await first.json()).series).toMatchObject([{ pointCount: 256 }]);
    expect(seriesIndexSchema.parse(await second.json()).series).toMatchObject([{ pointCount: count }]);
    expect(reads).toHaveLength(count);
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

describe('the lines of a list of jobs', () => {
  const lines = async (query: string) => {
    const response = await app.request(`/v1/metrics/sparklines?${query}`);
    const { sparklines }: Sparklines = await response.json();
    return sparklines;
  };

  it('have at most 40 points of the main replica, with the extremes, and none that repeats a step', async () => {
    const loss = Array.from({ length: 5_000 }, (_, at) => (at === 2_500 ? 90 : 1 / (at + 1)));
    await writePart(objects, [seriesLine('loss', loss), seriesLine('accuracy', [1])]);
    await writePart(objects, [seriesLine('loss', [7, 'NaN', 6], { step: 4_001, time: 9_000_000 })], { attempt: 2 });
    await writePart(objects, [seriesLine('loss', [55, 56, 57])], { replica: 'worker-3' });
    const [line] = await lines('series=digits:loss');
    expect(line?.positions).toEqual(line?.positions.toSorted((a, b) => a - b));
    expect(line?.positions.at(-1)).toBe(4_003);
    expect(line?.values.length).toBeGreaterThan(20);
    expect(line?.values.length).toBeLessThanOrEqual(40);
    expect(line?.values).toHaveLength(line?.positions.length ?? 0);
    expect(line?.values).toEqual(expect.arrayContaining([90, 6]));
    expect(line?.values).not.toContain(55);
  });

  it('are in the order of the request, empty without points, and left out for ids without a job', async () => {
    await writePart(objects, [seriesLine('a:b', [1, 2])], { jobId: 'digits2' });
    expect(await lines('series=digits2:a:b&series=absent:loss&series=search:loss&series=digits:loss')).toEqual([
      { jobId: 'digits2', name: 'a:b', positions: [1, 2], values: [1, 2], isFinal: false },
      { jobId: 'digits', name: 'loss', positions: [], values: [], isFinal: false },
    ]);
  });

  it('of a closed job are read once, those of another are read when its parts change', async () => {
    await ports.jobs.create({ ...closedJob(), jobId: 'closed', createdAt: 1_000_000 }, []);
    await writePart(objects, [seriesLine('loss', [1])], { jobId: 'closed' });
    await writePart(objects, [seriesLine('loss', [1])]);
    const query = 'series=closed:loss&series=digits:loss';
    expect(await lines(query)).toMatchObject([{ isFinal: true, values: [1] }, { isFinal: false }]);
    const second = await writePart(objects, [seriesLine('loss', [2], { step: 2, time: 20_000 })], { number: 2 });
    const listed: string[] = [];
    const { list } = objects;
    objects = { ...objects, list: (given) => [listed.push(given.prefix), list(given)][1] as ReturnType<typeof list> };
    reads.splice(0);
    expect(await lines(query)).toMatchObject([{ values: [1] }, { values: [1, 2] }]);
    expect([listed, reads]).toEqual([[`${FOLDER}/`], [second]]);
    const etag = (await app.request(`/v1/metrics/sparklines?${query}`)).headers.get('etag') ?? '';
    const again = await app.request(`/v1/metrics/sparklines?${query}`, { headers: { 'if-none-match': etag } });
    expect([again.status, reads]).toEqual([304, [second]]);
  });

  it('leave out jobs beyond the limit of bytes, which the next request reads', async () => {
    // Random digits, which gzip cannot make small.
    const large = () =>
      JSON.stringify({ omitted: { series: 0, points: 0 }, random: randomBytes(1_500_000).toString('base64') });
    const jobIds = Array.from({ length: 12 }, (_, at) => `large${at}`);
    for (const jobId of jobIds) {
      await ports.jobs.create({ ...queuedJob(), jobId, createdAt: 1_000_000 }, []);
      await writePart(objects, [seriesLine('loss', [1]), large()], { jobId });
      await writePart(objects, [seriesLine('loss', [2], { step: 2, time: 20_000 }), large()], { jobId, number: 2 });
    }
    const query = jobIds.map((jobId) => `series=${jobId}:loss`).join('&');
    const first = await lines(query);
    expect(first.length).toBeGreaterThan(2);
    expect(first.length).toBeLessThan(12);
    expect(await lines(query)).toHaveLength(12);
  });

  it('leave out jobs beyond the limit of parts, which the next request reads', async () => {
    const jobIds = Array.from({ length: 17 }, (_, at) => `long${at}`);
    for (const jobId of jobIds) {
      await ports.jobs.create({ ...queuedJob(), jobId, createdAt: 1_000_000 }, []);
      for (let number = 1; number <= 16; number += 1) {
        await writePart(objects, [seriesLine('loss', [number], { step: number, time: number * 1_000 })], {
          jobId,
          number,
        });
      }
    }
    const query = jobIds.map((jobId) => `series=${jobId}:loss`).join('&');
    expect(await lines(query)).toHaveLength(16);
    expect(await lines(query)).toHaveLength(17);
  });

  it('are empty for a job whose bucket may not be listed', async () => {
    objects = {
      ...objects,
      list: async ({ bucket, prefix }) => {
        throw new AccessDeniedError({ bucket, name: prefix });
      },
    };
    expect(await lines('series=digits:loss')).toMatchObject([{ values: [] }]);
  });

  it.each([
    ['', 'names 0 series'],
    [Array.from({ length: 51 }, (_, at) => `series=digits:${at}`).join('&'), 'names 51 series'],
    ['series=digits', 'digits is not a job and a metric'],
    ['series=9:loss', '9 is not a valid job id'],
    [`series=digits:${'x'.repeat(201)}`, 'is not a job and a metric'],
  ])('are refused for the query %s', async (query, message) => {
    const response = await app.request(`/v1/metrics/sparklines?${query}`);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(message)]);
  });
});
