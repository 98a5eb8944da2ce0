import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ApiUnderTest, openApiUnderTest } from '../support/api/api-under-test.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { seriesLine, writePart } from '../support/metrics/series-parts.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
  for (const jobId of ['digits', 'digits2', 'digits3']) {
    const { spec, ...job } = queuedJob();
    await api.ports.jobs.create(
      { ...job, jobId, spec: { ...spec, jobId, jobDir: `gs://jobs/${jobId}` }, createdAt: 1 },
      [],
    );
  }
});
afterEach(() => api.close());

type Pairs = readonly { readonly key: string; readonly value: string }[];
type Run = {
  readonly info: { readonly run_id: string; readonly status: string };
  readonly data: { readonly params: Pairs };
};

async function send(method: string, path: string, body?: object) {
  const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await api.request(`/api/2.0/mlflow/${path}`, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function log(document: unknown): Promise<void> {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  await api.objects.write({ bucket: 'jobs', name: 'digits/dropforge-mlflow.json' }, Buffer.from(text));
}

const runOf = async () => (await send('GET', 'runs/get?run_id=digits')).body['run'] as Run;

it('has one experiment, with a run for each job', async () => {
  expect((await send('POST', 'experiments/search', {})).body).toMatchObject({ experiments: [{ name: 'Default' }] });
  expect((await send('GET', 'experiments/get?experiment_id=7')).status).toBe(404);
  const { body } = await send('POST', 'runs/search', { experiment_ids: ['0'] });
  expect((body['runs'] as readonly Run[]).map(({ info }) => info.run_id).sort()).toEqual([
    'digits',
    'digits2',
    'digits3',
  ]);
  expect((body['runs'] as readonly Run[])[0]?.info.status).toBe('SCHEDULED');
});

it('lists the runs page by page', async () => {
  const first = await send('POST', 'runs/search', { max_results: 2 });
  expect(first.body['runs']).toHaveLength(2);
  const second = await send('POST', 'runs/search', { max_results: 2, page_token: first.body['next_page_token'] });
  expect(second.body['runs']).toHaveLength(1);
  expect(second.body).not.toHaveProperty('next_page_token');
});

it('rejects a search of more than 64 KiB', async () => {
  const body = JSON.stringify({ filter: 'x'.repeat(70_000) });
  const response = await api.request('/api/2.0/mlflow/runs/search', { method: 'POST', body });
  expect(response.status).toBe(413);
});

it('has what the main run of the program has logged', async () => {
  const child = { prefix: 'child', params: { lr: '9' }, tags: {}, metrics: {} };
  const main = { prefix: '', params: { lr: '0.1' }, tags: { team: 'vision' }, metrics: { loss: ['NaN', 5, 3] } };
  await log({ version: 1, experiments: [], runs: [main, child] });
  expect((await runOf()).data).toMatchObject({
    params: [{ key: 'lr', value: '0.1' }],
    metrics: [{ key: 'loss', value: 'NaN', timestamp: 5, step: 3 }],
    tags: expect.arrayContaining([{ key: 'team', value: 'vision' }]),
  });
});

it.each(['{', '[]', '{"runs": [{"prefix": 1}]}'])('reads a job whose program has written %s instead', async (text) => {
  await log(text);
  expect((await runOf()).data.params).toEqual([]);
});

it('has the history of a metric', async () => {
  await writePart(api.objects, [seriesLine('loss', [3, 2, 'NaN'])]);
  const { body } = await send('GET', 'metrics/get-history?run_id=digits&metric_key=loss');
  expect(
    (body['metrics'] as readonly { step: number; value: unknown }[]).map(({ step, value }) => [step, value]),
  ).toEqual([
    [1, 3],
    [2, 2],
    [3, 'NaN'],
  ]);
});

it('refuses to write, and says where programs log to', async () => {
  const { status, body } = await send('POST', 'runs/create', {});
  expect({ status, body }).toMatchObject({ status: 403, body: { error_code: 'PERMISSION_DENIED' } });
  expect(body['message']).toContain('tracking server of their VM');
  expect((await send('GET', 'traces')).body['error_code']).toBe('ENDPOINT_NOT_FOUND');
  expect((await send('POST', 'runs/search', { filter: 'metrics.loss < 1' })).status).toBe(400);
  expect((await send('GET', 'runs/get?run_id=none')).status).toBe(404);
});
