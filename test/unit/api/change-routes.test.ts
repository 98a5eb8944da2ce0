import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Changes } from '#shared/ports/change-feed.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { jobOf } from '../../support/contract/job-store-examples.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

async function poll(query = ''): Promise<Changes> {
  return (await api.request(`/v1/changes${query}`)).json();
}

async function listIds(query: string): Promise<readonly string[]> {
  const { jobs } = await (await api.request(`/v1/jobs?${query}`)).json();
  return jobs.map(({ jobId }: { readonly jobId: string }) => jobId);
}

it('names what changed since the answer with a marker, of all jobs or of one', async () => {
  const { marker } = await poll();
  await api.ports.jobs.create(jobOf('one'), []);
  await api.ports.jobs.create(jobOf('other'), []);

  expect(await poll(`?since=${marker}`)).toEqual({
    changes: [expect.objectContaining({ jobId: 'one', kind: 'RECORD' }), expect.objectContaining({ jobId: 'other' })],
    isEverything: false,
    marker: expect.any(String),
    pollAfterMs: 500,
  });
  expect((await poll(`?since=${marker}&job=other`)).changes).toMatchObject([{ jobId: 'other' }]);
});

it('says that everything may have changed without a marker', async () => {
  expect(await poll()).toMatchObject({ isEverything: true, changes: [] });
});

it('rejects an id that no job can have', async () => {
  expect((await api.request('/v1/changes?job=a-b')).status).toBe(400);
});

it('reads the jobs of given ids that satisfy the filter, and none of trials', async () => {
  await api.ports.jobs.create(jobOf('one'), []);
  await api.ports.jobs.create(jobOf('two'), []);
  await api.ports.jobs.create(jobOf('a_trial_1', { trial: { tuningId: 'a', ordinal: 1, metricIds: [] } }), []);

  expect(await listIds('id=two&id=absent&id=a_trial_1')).toEqual(['two']);
  expect(await listIds('id=one&id=two&text=one')).toEqual(['one']);
  expect((await api.request(`/v1/jobs?${'id=a&'.repeat(101)}`)).status).toBe(400);
});
